-- What the migrations make, for review: a test compares the two. Without the triggers, which are read where they are made.

CREATE TABLE account (
    kind    TEXT    NOT NULL,
    "group" TEXT    NOT NULL,
    spent   REAL    NOT NULL,
    touched INTEGER NOT NULL,
    PRIMARY KEY (kind, "group")
) STRICT, WITHOUT ROWID;

CREATE INDEX account_by_use ON account (touched);

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

CREATE TABLE cap (
    kind    INTEGER NOT NULL,
    name    TEXT    NOT NULL,
    running INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE claim (
    id       BLOB    NOT NULL PRIMARY KEY,
    executor BLOB    NOT NULL,
    number   INTEGER NOT NULL,
    state    INTEGER NOT NULL,
    reason   INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE counter (
    name  TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE executor_name (
    incarnation BLOB    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    since       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE feed (
    single    INTEGER NOT NULL PRIMARY KEY CHECK (single = 1),
    epoch     INTEGER NOT NULL,
    until     INTEGER NOT NULL,
    forgotten INTEGER NOT NULL
) STRICT;

CREATE TABLE global_setting (
    single    INTEGER NOT NULL PRIMARY KEY CHECK (single = 1),
    retention TEXT    NOT NULL,
    paused    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE hint (
    number  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    job     BLOB    NOT NULL,
    "group" TEXT    NOT NULL,
    owner   TEXT,
    told    INTEGER NOT NULL,
    last    TEXT
) STRICT;

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

CREATE INDEX children ON job (parent) WHERE parent IS NOT NULL;

CREATE INDEX expiring ON job (expires, id) WHERE expires IS NOT NULL AND state = 0;

CREATE INDEX held ON job (executor) WHERE executor IS NOT NULL;

CREATE INDEX limited ON job ("group", task, owner) WHERE limited;

CREATE INDEX parked ON job (due, id) WHERE due IS NOT NULL;

CREATE UNIQUE INDEX unique_keys ON job ("group", task, unique_key) WHERE unique_key IS NOT NULL;

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

CREATE INDEX history_by_end ON job_history (finished);

CREATE INDEX history_by_group ON job_history ("group");

CREATE INDEX history_by_parent ON job_history (parent) WHERE parent IS NOT NULL;

CREATE INDEX history_failed ON job_history (finished) WHERE state = 5;

CREATE INDEX history_failed_by_id ON job_history (id) WHERE state = 5;

CREATE INDEX history_failed_of_group ON job_history ("group", finished) WHERE state = 5;

CREATE TABLE job_log (
    job     BLOB    NOT NULL,
    number  INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    level   INTEGER NOT NULL,
    time    INTEGER NOT NULL,
    message TEXT    NOT NULL,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;

CREATE VIEW live AS
SELECT j.id AS id, task, "group", owner, queue, priority, iif(c.id IS NULL, j.state, c.state) AS state,
       iif(c.id IS NULL, j.reason, c.reason) AS reason, cancelling, iif(c.id IS NULL, lane, NULL) AS lane, seq, due,
       iif(c.id IS NULL, j.executor, c.executor) AS executor, iif(c.id IS NULL, j.claim, c.number) AS claim, attempts,
       interruptions, losses, items, submitted, expires, started, parent, unique_key, meta, subject, args, prepared,
       limited, error, result, error_message, error_code
FROM job j LEFT JOIN claim c ON c.id = j.id;

CREATE TABLE owed (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    task   TEXT    NOT NULL,
    hook   INTEGER NOT NULL,
    tries  INTEGER NOT NULL DEFAULT 0,
    since  INTEGER NOT NULL,
    due    INTEGER NOT NULL,
    job    TEXT    NOT NULL
) STRICT;

CREATE TABLE progress (
    job      BLOB    NOT NULL PRIMARY KEY,
    executor BLOB    NOT NULL,
    claim    INTEGER NOT NULL,
    percent  INTEGER NOT NULL,
    step     TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_setting (
    queue  TEXT    NOT NULL PRIMARY KEY,
    paused INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE rate (
    kind INTEGER NOT NULL,
    name TEXT    NOT NULL,
    full INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE rate_key (
    key  TEXT    NOT NULL PRIMARY KEY,
    full INTEGER NOT NULL,
    next INTEGER NOT NULL,
    late INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ready (
    stream INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    id     BLOB    NOT NULL,
    PRIMARY KEY (stream, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE ring (
    kind  TEXT    NOT NULL PRIMARY KEY,
    place TEXT    NOT NULL,
    left  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE INDEX schedule_declared ON schedule (declared_by) WHERE declared_by IS NOT NULL;

CREATE INDEX schedule_due ON schedule (due) WHERE due IS NOT NULL;

CREATE TABLE schedule_event (
    number  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "group" TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    kind    INTEGER NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

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

CREATE TABLE signing_key (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    secret BLOB    NOT NULL,
    made   INTEGER NOT NULL
) STRICT;

CREATE TABLE sqlite_sequence(name,seq);

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

CREATE INDEX takeable ON stream (queue, task, "group", lane) WHERE paused = 0;

CREATE TABLE submit_outcome (
    single   INTEGER NOT NULL PRIMARY KEY CHECK (single = 1),
    job      BLOB    NOT NULL,
    moment   INTEGER NOT NULL,
    outcome  TEXT    NOT NULL,
    of_owner INTEGER,
    of_group INTEGER,
    of_tasks INTEGER
) STRICT;

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

CREATE TABLE task_limit (
    task        TEXT    NOT NULL PRIMARY KEY,
    max_running INTEGER,
    paused      INTEGER NOT NULL,
    retention   TEXT    NOT NULL,
    max_running_each INTEGER,
    rate        TEXT
) STRICT, WITHOUT ROWID;

CREATE VIEW turnabout_finish AS SELECT args AS job FROM job;

CREATE VIEW turnabout_submit AS SELECT args AS job FROM job;
