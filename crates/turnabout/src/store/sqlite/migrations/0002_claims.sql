-- Jobs that were taken and of which nothing else has been written since. Their rows in `job` still say what they were
-- while they were ready; `state` and `reason` are what they are now. Most jobs end without having been more: to take one is
-- then a small row here, not a large one written anew, and none in `held`. Whatever else is written about a job moves its
-- claim into its row.
CREATE TABLE claim (
    id       BLOB    NOT NULL PRIMARY KEY,
    executor BLOB    NOT NULL,
    number   INTEGER NOT NULL,
    state    INTEGER NOT NULL,
    reason   INTEGER
) STRICT, WITHOUT ROWID;

-- Unfinished jobs as they are, wherever their claims stand.
CREATE VIEW live AS
SELECT j.id AS id, task, "group", owner, queue, priority, iif(c.id IS NULL, j.state, c.state) AS state,
       iif(c.id IS NULL, j.reason, c.reason) AS reason, cancelling, iif(c.id IS NULL, lane, NULL) AS lane, seq, due,
       iif(c.id IS NULL, j.executor, c.executor) AS executor, iif(c.id IS NULL, j.claim, c.number) AS claim, attempts,
       interruptions, losses, items, submitted, expires, started, parent, unique_key, meta, subject, args, prepared,
       limited, error, result, error_message, error_code
FROM job j LEFT JOIN claim c ON c.id = j.id;
