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
