-- Submitting and finishing by one statement of any driver, inside the transaction of an application that has its tables in the
-- same file. Such a statement inserts into one of the two views: one text, the JSON that src/statement.rs writes. A trigger
-- does the rest. Whoever runs it holds the write lock of the file, so what is looked up here stays true until the commit.
-- Without JSON5, `RAISE` with an expression and the like: an older SQLite must be able to read the schema. To run the
-- statements takes SQLite 3.41 (`unhex`).

-- What became of the last submit: one row, read in the transaction of that submit. `outcome`: new, known, taken (the id is
-- another group's), untimely (the id), owner or group (whose limit on unfinished jobs is reached), tasks (the group's limit on
-- tasks that nobody has published is reached).
CREATE TABLE submit_outcome (
    single   INTEGER NOT NULL PRIMARY KEY CHECK (single = 1),
    job      BLOB    NOT NULL,
    moment   INTEGER NOT NULL,
    outcome  TEXT    NOT NULL,
    of_owner INTEGER,
    of_group INTEGER,
    of_tasks INTEGER
) STRICT;

-- `strict` in the JSON: what is refused is an error, and not only an outcome.
CREATE VIEW turnabout_submit AS SELECT args AS job FROM job;

CREATE TRIGGER turnabout_submit INSTEAD OF INSERT ON turnabout_submit BEGIN
    INSERT OR REPLACE INTO submit_outcome (single, job, moment, outcome, of_owner, of_group, of_tasks)
    SELECT 1, iif(theirs IS NULL, coalesce(holder, id), id),
        CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000,
        CASE WHEN theirs = "group" THEN 'known'
             WHEN theirs IS NOT NULL THEN 'taken'
             WHEN given = 2 THEN 'untimely'
             WHEN holder IS NOT NULL THEN 'known'
             WHEN of_owner <= (SELECT count(*) FROM job j
                 WHERE j.limited AND j."group" = d."group" AND j.task = d.task AND j.owner IS d.owner) THEN 'owner'
             WHEN of_group <= (SELECT count(*) FROM job j WHERE j.limited AND j."group" = d."group") THEN 'group'
             WHEN of_tasks <= (SELECT count(DISTINCT j.task) FROM job j WHERE j.limited AND j."group" = d."group"
                     AND NOT EXISTS (SELECT 1 FROM task t WHERE t.name = j.task))
                 AND NOT EXISTS (SELECT 1 FROM job j WHERE j.limited AND j."group" = d."group" AND j.task = d.task)
                 THEN 'tasks'
             ELSE 'new' END,
        of_owner, of_group, of_tasks
    FROM (
        SELECT *,
            coalesce((SELECT j."group" FROM job j WHERE j.id = e.id),
                     (SELECT h."group" FROM job_history h WHERE h.id = e.id)) AS theirs,
            (SELECT j.id FROM job j
             WHERE j."group" = e."group" AND j.task = e.task AND j.unique_key = NEW.job ->> 'unique_key') AS holder,
            CASE WHEN said IS NULL THEN (SELECT t.max_unfinished FROM task t WHERE t.name = e.task)
                 WHEN said > 0 THEN said END AS of_owner,
            -- The largest number is no limit.
            nullif(coalesce((SELECT g.max_unfinished FROM group_setting g WHERE g."group" = e."group"),
                            (SELECT g.max_unfinished FROM group_setting g WHERE g."group" = '')), 2147483647) AS of_group,
            iif(EXISTS (SELECT 1 FROM task t WHERE t.name = e.task), NULL,
                coalesce((SELECT g.max_unknown_tasks FROM group_setting g WHERE g."group" = e."group"),
                         (SELECT g.max_unknown_tasks FROM group_setting g WHERE g."group" = ''), 1000)) AS of_tasks
        FROM (
            SELECT unhex(NEW.job ->> 'id', '-') AS id, NEW.job ->> 'given' AS given, NEW.job ->> 'task' AS task,
                NEW.job ->> 'group' AS "group", NEW.job ->> 'owner' AS owner, NEW.job ->> 'max_unfinished' AS said
        ) e
    ) d;

    SELECT CASE outcome
        WHEN 'taken' THEN RAISE(ABORT, 'turnabout: the job id is already in use; choose another')
        WHEN 'untimely' THEN RAISE(ABORT, 'turnabout: a given id must be a UUID of version 7, made within the last 7 days')
        WHEN 'owner' THEN RAISE(ABORT, 'turnabout: the owner has as many unfinished jobs of this task as are allowed; try again when some of them have ended')
        WHEN 'group' THEN RAISE(ABORT, 'turnabout: the group has as many unfinished jobs as are allowed; try again when some of them have ended')
        WHEN 'tasks' THEN RAISE(ABORT, 'turnabout: no executor has published the task, and the group has unfinished jobs of as many such tasks as are allowed; check the name, or start an executor that runs it')
        END
    FROM submit_outcome WHERE NEW.job ->> 'strict';

    UPDATE counter SET value = value + 1 WHERE name = 'seq' AND (SELECT outcome FROM submit_outcome) = 'new';

    INSERT INTO job (id, task, "group", owner, queue, priority, state, lane, seq, due, items, submitted, expires, parent,
                     unique_key, meta, args, subject, prepared, limited)
    SELECT d.job, d.task, NEW.job ->> 'group', NEW.job ->> 'owner', coalesce(NEW.job ->> 'queue', t.queue, 'default'),
        coalesce(d.priority, t.priority, 2), 0, iif(d.due > d.moment, NULL, coalesce(d.priority, t.priority, 2)),
        -- A parked job gets its place in the lane when it comes into it.
        iif(d.due > d.moment, 0, (SELECT value FROM counter WHERE name = 'seq')), iif(d.due > d.moment, d.due, NULL),
        NEW.job ->> 'items', d.moment, min(d.moment + CAST(round((NEW.job ->> 'expires') * 1e6) AS INTEGER), 253402207200000000),
        unhex(NEW.job ->> 'parent', '-'), NEW.job ->> 'unique_key', NEW.job ->> 'meta', NEW.job ->> 'args',
        NEW.job ->> 'subject', NEW.job ->> 'prepared', coalesce(d.of_owner, d.of_group, d.of_tasks) IS NOT NULL
    FROM (
        SELECT o.*, NEW.job ->> 'task' AS task,
            CASE NEW.job ->> 'priority' WHEN 'high' THEN 1 WHEN 'normal' THEN 2 WHEN 'low' THEN 3 END AS priority,
            -- No clock shows more than the last number.
            min(coalesce(NEW.job ->> 'at', o.moment + CAST(round((NEW.job ->> 'delay') * 1e6) AS INTEGER)), 253402207200000000) AS due
        FROM submit_outcome o WHERE o.outcome = 'new'
    ) d LEFT JOIN task t ON t.name = d.task;

    -- Into its stream, as streams.rs does. A new job comes after all others, so no cursor has to go back.
    INSERT INTO stream (queue, "group", lane, task, jobs, cursor, dead, paused)
    SELECT j.queue, j."group", j.lane, j.task, 0, 0, 0,
        EXISTS (SELECT 1 FROM group_setting g WHERE g."group" = j."group" AND g.paused)
    FROM submit_outcome o JOIN job j ON j.id = o.job WHERE o.outcome = 'new' AND j.lane IS NOT NULL
    ON CONFLICT DO NOTHING;

    INSERT INTO ready (stream, seq, id)
    SELECT s.id, j.seq, j.id FROM submit_outcome o JOIN job j ON j.id = o.job
        JOIN stream s ON s.queue = j.queue AND s."group" = j."group" AND s.lane = j.lane AND s.task = j.task
    WHERE o.outcome = 'new';

    UPDATE stream SET jobs = jobs + 1 WHERE id = (
        SELECT s.id FROM submit_outcome o JOIN job j ON j.id = o.job
            JOIN stream s ON s.queue = j.queue AND s."group" = j."group" AND s.lane = j.lane AND s.task = j.task
        WHERE o.outcome = 'new'
    );

    INSERT INTO hint (job, "group", owner, told)
    SELECT j.id, j."group", j.owner, o.moment FROM submit_outcome o JOIN job j ON j.id = o.job
    WHERE o.outcome = 'new' AND EXISTS (SELECT 1 FROM feed f WHERE f.until >= o.moment);
END;

CREATE VIEW turnabout_finish AS SELECT args AS job FROM job;

-- Ends a job well that is held by this claim and is not being cancelled; anything else is an error. 4 is success, what
-- Event::Succeed makes of a running job.
CREATE TRIGGER turnabout_finish INSTEAD OF INSERT ON turnabout_finish BEGIN
    SELECT RAISE(ABORT, 'turnabout: the job is being cancelled, or is no longer held by this claim; roll back, and return an error')
    WHERE NOT EXISTS (
        SELECT 1 FROM live WHERE id = unhex(NEW.job ->> 'job', '-') AND executor = unhex(NEW.job ->> 'executor', '-')
            AND claim = NEW.job ->> 'number' AND NOT cancelling
    );

    INSERT INTO job_history (id, task, "group", owner, queue, priority, state, reason, seq, executor, claim, attempts,
                             interruptions, losses, items, submitted, expires, started, finished, parent, unique_key,
                             meta, args, error, result, error_message, error_code, subject, prepared)
    SELECT id, task, "group", owner, queue, priority, 4, NULL, seq, executor, claim, NEW.job ->> 'attempts', interruptions,
        losses, items, submitted, expires, NEW.job ->> 'started',
        CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000, parent, unique_key, meta, args, error,
        NEW.job ->> 'result', error_message, error_code, subject, prepared
    FROM live WHERE id = unhex(NEW.job ->> 'job', '-');

    DELETE FROM claim WHERE id = unhex(NEW.job ->> 'job', '-');
    DELETE FROM job WHERE id = unhex(NEW.job ->> 'job', '-');
    DELETE FROM progress WHERE job = unhex(NEW.job ->> 'job', '-');

    UPDATE cap SET running = max(running - 1, 0) WHERE (kind, name) IN (
        SELECT 0, "group" FROM job_history WHERE id = unhex(NEW.job ->> 'job', '-')
        UNION ALL SELECT 1, task FROM job_history WHERE id = unhex(NEW.job ->> 'job', '-')
    );

    INSERT INTO hint (job, "group", owner, told)
    SELECT id, "group", owner, finished FROM job_history h
    WHERE id = unhex(NEW.job ->> 'job', '-') AND EXISTS (SELECT 1 FROM feed f WHERE f.until >= h.finished);
END;
