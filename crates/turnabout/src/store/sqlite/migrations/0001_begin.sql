-- The first schema. Times are microseconds since 1970, ids are UUIDs of 16 bytes, states and the like are the codes
-- of the enums in job.rs. Names compare bytewise, which is SQLite's own order.

-- Jobs that have not ended. `lane` is set while a job is ready, `due` while it is parked, `executor` and `claim` while
-- an executor holds it: exactly one of the three. Without a rowid: the id is the key of the one tree that holds the
-- rows, and ends every entry of the other indexes.
-- What nobody could read is not let in: unknown codes, and moments that clocks do not show.
CREATE TABLE job (
    id            BLOB    NOT NULL PRIMARY KEY,
    task          TEXT    NOT NULL,
    "group"       TEXT    NOT NULL,
    owner         TEXT,
    queue         TEXT    NOT NULL,
    priority      INTEGER NOT NULL,
    state         INTEGER NOT NULL,
    reason        INTEGER,
    cancelling    INTEGER NOT NULL DEFAULT 0,
    lane          INTEGER,
    seq           INTEGER NOT NULL DEFAULT 0,
    due           INTEGER,
    executor      BLOB,
    claim         INTEGER,
    attempts      INTEGER NOT NULL DEFAULT 0,
    interruptions INTEGER NOT NULL DEFAULT 0,
    losses        INTEGER NOT NULL DEFAULT 0,
    items         INTEGER NOT NULL,
    submitted     INTEGER NOT NULL,
    expires       INTEGER,
    started       INTEGER,
    parent        BLOB,
    unique_key    TEXT,
    meta          TEXT,
    subject       TEXT,
    args          TEXT    NOT NULL,
    prepared      INTEGER NOT NULL DEFAULT 0,
    limited       INTEGER NOT NULL DEFAULT 0,
    error         TEXT,
    result        TEXT,
    error_message TEXT,
    error_code    TEXT,
    CHECK ((lane IS NOT NULL) + (due IS NOT NULL) + (executor IS NOT NULL) = 1),
    CHECK (state BETWEEN 0 AND 6 AND priority BETWEEN 1 AND 3 AND lane BETWEEN 0 AND 3
        AND max(submitted, coalesce(due, 0), coalesce(expires, 0)) <= 253402207200999999
        AND min(submitted, coalesce(due, 0), coalesce(expires, 0)) >= -62135596800000000)
) STRICT, WITHOUT ROWID;

CREATE INDEX parked ON job (due, id) WHERE due IS NOT NULL;
CREATE INDEX expiring ON job (expires, id) WHERE expires IS NOT NULL AND state = 0;
CREATE INDEX held ON job (executor) WHERE executor IS NOT NULL;
CREATE UNIQUE INDEX unique_keys ON job ("group", task, unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX children ON job (parent) WHERE parent IS NOT NULL;
-- Jobs whose number is limited, and only those: submits count them.
CREATE INDEX limited ON job ("group", task, owner) WHERE limited;

-- The streams of ready jobs: those of one queue, group, lane and task. Only streams that hold jobs have a row. `jobs` is how many
-- are ready; of the entries in `ready` those up to `cursor` were taken, `dead` of them, and are swept out together. `paused`
-- says whether the group is paused, as `group_setting` does.
CREATE TABLE stream (
    id      INTEGER NOT NULL PRIMARY KEY,
    queue   TEXT    NOT NULL,
    "group" TEXT    NOT NULL,
    lane    INTEGER NOT NULL,
    task    TEXT    NOT NULL,
    jobs    INTEGER NOT NULL,
    cursor  INTEGER NOT NULL,
    dead    INTEGER NOT NULL,
    paused  INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX streams ON stream (queue, "group", lane, task);
-- What a take walks: each task's streams in the order of the ring, without those of paused groups.
CREATE INDEX takeable ON stream (queue, task, "group", lane) WHERE paused = 0;

-- What is in the streams, each in order.
CREATE TABLE ready (
    stream INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    id     BLOB    NOT NULL,
    PRIMARY KEY (stream, seq)
) STRICT, WITHOUT ROWID;

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

-- Jobs that have ended, with the claim that ended them: a write whose reply was lost is recognised as done.
CREATE TABLE job_history (
    id            BLOB    NOT NULL PRIMARY KEY,
    task          TEXT    NOT NULL,
    "group"       TEXT    NOT NULL,
    owner         TEXT,
    queue         TEXT    NOT NULL,
    priority      INTEGER NOT NULL,
    state         INTEGER NOT NULL,
    reason        INTEGER,
    seq           INTEGER NOT NULL,
    executor      BLOB,
    claim         INTEGER,
    attempts      INTEGER NOT NULL,
    interruptions INTEGER NOT NULL,
    losses        INTEGER NOT NULL,
    items         INTEGER NOT NULL,
    submitted     INTEGER NOT NULL,
    expires       INTEGER,
    started       INTEGER,
    finished      INTEGER NOT NULL,
    parent        BLOB,
    unique_key    TEXT,
    meta          TEXT,
    subject       TEXT,
    args          TEXT    NOT NULL,
    prepared      INTEGER NOT NULL,
    error         TEXT,
    result        TEXT,
    error_message TEXT,
    error_code    TEXT,
    percent       INTEGER,
    step          TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX history_by_group ON job_history ("group");
CREATE INDEX history_by_parent ON job_history (parent) WHERE parent IS NOT NULL;
CREATE INDEX history_by_end ON job_history (finished);
-- What failed is found without a walk through all that succeeded.
CREATE INDEX history_failed ON job_history (finished) WHERE state = 5;
CREATE INDEX history_failed_by_id ON job_history (id) WHERE state = 5;
CREATE INDEX history_failed_of_group ON job_history ("group", finished) WHERE state = 5;

-- How far held jobs are, as their handlers report it, and by which claim: what an earlier one reported does not count.
CREATE TABLE progress (
    job      BLOB    NOT NULL PRIMARY KEY,
    executor BLOB    NOT NULL,
    claim    INTEGER NOT NULL,
    percent  INTEGER NOT NULL,
    step     TEXT
) STRICT, WITHOUT ROWID;

-- What handlers write about their work, kept as long as the job. Numbers grow; what is missing was dropped.
CREATE TABLE job_log (
    job     BLOB    NOT NULL,
    number  INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    level   INTEGER NOT NULL,
    time    INTEGER NOT NULL,
    message TEXT    NOT NULL,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;

-- Attempts that were not their job's last; the last one stands in the job itself. Without a reason: it succeeded, and the
-- job was restarted.
CREATE TABLE job_attempt (
    job           BLOB    NOT NULL,
    n             INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    executor      BLOB    NOT NULL,
    claim         INTEGER NOT NULL,
    started       INTEGER NOT NULL,
    ended         INTEGER NOT NULL,
    reason        INTEGER,
    error         TEXT,
    error_message TEXT,
    error_code    TEXT,
    PRIMARY KEY (job, n)
) STRICT, WITHOUT ROWID;

-- Numbers that only grow: `seq`, the place of the last job in its lane, and `settings`, the settings' version.
CREATE TABLE counter (
    name  TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO counter (name, value) VALUES ('seq', 0), ('settings', 0);

-- The place in the ring of groups, one for each kind of executor.
CREATE TABLE ring (
    kind  TEXT    NOT NULL PRIMARY KEY,
    place TEXT    NOT NULL,
    left  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What groups have cost so far, for fairness by items or time.
CREATE TABLE account (
    kind    TEXT    NOT NULL,
    "group" TEXT    NOT NULL,
    spent   REAL    NOT NULL,
    touched INTEGER NOT NULL,
    PRIMARY KEY (kind, "group")
) STRICT, WITHOUT ROWID;

CREATE INDEX account_by_use ON account (touched);

-- Executors that are alive, or were until someone notices that they fell silent. Lists are JSON.
CREATE TABLE executor (
    incarnation BLOB    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    slots       INTEGER NOT NULL,
    queues      TEXT    NOT NULL,
    tasks       TEXT    NOT NULL,
    version     TEXT    NOT NULL,
    beat        INTEGER NOT NULL,
    seen        INTEGER NOT NULL DEFAULT 0,
    draining    INTEGER NOT NULL DEFAULT 0,
    dismissed   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- What executors are called, also those that have left: jobs and attempts name an incarnation. Forgotten a year after.
CREATE TABLE executor_name (
    incarnation BLOB    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    since       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What executors publish of their tasks, for those who submit without the code. Durations are microseconds.
CREATE TABLE task (
    name        TEXT    NOT NULL PRIMARY KEY,
    queue       TEXT    NOT NULL,
    priority    INTEGER NOT NULL,
    retries     INTEGER NOT NULL,
    retry_delay INTEGER NOT NULL,
    retry_cap   INTEGER NOT NULL,
    jitter      INTEGER NOT NULL,
    restartable INTEGER NOT NULL,
    time_limit  INTEGER,
    max_unfinished INTEGER,
    hooks       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Hooks that are owed: noted with the change of a job that they are about, struck off when they have run. `job` is the
-- job as it was then, as JSON.
CREATE TABLE owed (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    task   TEXT    NOT NULL,
    hook   INTEGER NOT NULL,
    tries  INTEGER NOT NULL DEFAULT 0,
    since  INTEGER NOT NULL,
    due    INTEGER NOT NULL,
    job    TEXT    NOT NULL
) STRICT;

-- What operators set. What is not here has the defaults. `retention` is JSON: final state -> seconds.
CREATE TABLE group_setting (
    "group"     TEXT    NOT NULL PRIMARY KEY,
    weight      INTEGER,
    max_running INTEGER,
    max_share   INTEGER,
    max_unknown_tasks INTEGER,
    max_unfinished INTEGER,
    paused      INTEGER NOT NULL,
    retention   TEXT    NOT NULL,
    rate        TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX limited_groups ON group_setting ("group") WHERE max_unfinished IS NOT NULL;

CREATE TABLE task_limit (
    task        TEXT    NOT NULL PRIMARY KEY,
    max_running INTEGER,
    paused      INTEGER NOT NULL,
    retention   TEXT    NOT NULL,
    max_running_each INTEGER,
    rate        TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_setting (
    queue  TEXT    NOT NULL PRIMARY KEY,
    paused INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What holds for everything: one row.
CREATE TABLE global_setting (
    single    INTEGER NOT NULL PRIMARY KEY CHECK (single = 1),
    retention TEXT    NOT NULL,
    paused    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO global_setting VALUES (1, '{}', 0);

-- How many jobs executors hold, only for the groups (kind 0) and tasks (kind 1) that have a cap.
CREATE TABLE cap (
    kind    INTEGER NOT NULL,
    name    TEXT    NOT NULL,
    running INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- When the buckets of rates will be full again, in nanoseconds since 1970: a row for each group (kind 0) or task (kind 1) that
-- has a rate and of which a job has been taken since.
CREATE TABLE rate (
    kind INTEGER NOT NULL,
    name TEXT    NOT NULL,
    full INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- How the jobs stand that were submitted with a key and a rate, in nanoseconds since 1970: when the bucket will be full, and the
-- next moments to which jobs may be put off (those that have just come, those that came back). A row says nothing when all are past.
CREATE TABLE rate_key (
    key  TEXT    NOT NULL PRIMARY KEY,
    full INTEGER NOT NULL,
    next INTEGER NOT NULL,
    late INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Until when someone watches, in which epoch, and up to which number the hints are forgotten: one row.
CREATE TABLE feed (
    single    INTEGER NOT NULL PRIMARY KEY CHECK (single = 1),
    epoch     INTEGER NOT NULL,
    until     INTEGER NOT NULL,
    forgotten INTEGER NOT NULL
) STRICT;

INSERT INTO feed (single, epoch, until, forgotten) VALUES (1, 0, 0, 0);

-- Hints: which jobs have changed while someone watched. `last` is what a job was at its end, if it is not kept.
CREATE TABLE hint (
    number  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    job     BLOB    NOT NULL,
    "group" TEXT    NOT NULL,
    owner   TEXT,
    told    INTEGER NOT NULL,
    last    TEXT
) STRICT;

-- Schedules: jobs that are submitted again and again, by the calendar.

-- What is looked for stands in columns, the rest as JSON: `said` is what people and deployments say about a schedule,
-- `standing` what it did and will do; only the latter is written when it is fired. No group or owner is an empty one.
CREATE TABLE schedule (
    id          BLOB    NOT NULL PRIMARY KEY,
    "group"     TEXT    NOT NULL,
    owner       TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    task        TEXT    NOT NULL,
    declared_by TEXT,
    next        INTEGER,
    due         INTEGER,
    said        TEXT    NOT NULL,
    standing    TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX schedule_by_key ON schedule ("group", owner, name);
CREATE INDEX schedule_due ON schedule (due) WHERE due IS NOT NULL;
CREATE INDEX schedule_declared ON schedule (declared_by) WHERE declared_by IS NOT NULL;

-- What became of the times of a schedule, the last ones only. No time has two jobs.
CREATE TABLE schedule_run (
    schedule BLOB    NOT NULL,
    number   INTEGER NOT NULL,
    time     INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    late     INTEGER NOT NULL,
    job      BLOB,
    why      TEXT,
    PRIMARY KEY (schedule, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX schedule_run_once ON schedule_run (schedule, time) WHERE job IS NOT NULL;

-- What happened to schedules, for those who follow them; the last ones only.
CREATE TABLE schedule_event (
    number  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "group" TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    kind    INTEGER NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

-- Keys by which servers sign the tokens that they mint for browsers. A new one each day; old ones go when nothing that
-- they have signed is valid any longer.
CREATE TABLE signing_key (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    secret BLOB    NOT NULL,
    made   INTEGER NOT NULL
) STRICT;
-- Who did what, and when. Only added to, and forgotten by prune_audit.sql.
CREATE TABLE audit (
    number  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    by      TEXT    NOT NULL,
    role    TEXT    NOT NULL,
    address TEXT,
    action  TEXT    NOT NULL,
    target  TEXT,
    "group" TEXT,
    filter  TEXT,
    count   INTEGER,
    before  TEXT,
    after   TEXT,
    note    TEXT
) STRICT;

CREATE INDEX audit_by_target ON audit (target, number) WHERE target IS NOT NULL;
CREATE INDEX audit_by_time ON audit (at);
