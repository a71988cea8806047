-- Schedules: jobs that are submitted again and again, by the calendar.

-- What is looked for stands in columns, the rest as JSON: `said` is what people and deployments say about a schedule,
-- `standing` what it did and will do; only the latter is written when it is fired. No group or owner is an empty one.
create table turnabout.schedule (
    id          uuid primary key,
    next        timestamptz,
    due         timestamptz,                 -- when it is fired: the next time and its jitter
    "group"     text collate "C" not null,
    owner       text collate "C" not null,
    name        text collate "C" not null,
    task        text collate "C" not null,
    declared_by text collate "C",
    standing    text not null,
    said        text not null
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create unique index schedule_by_key on turnabout.schedule ("group", owner, name);
create index schedule_due on turnabout.schedule (due) where due is not null;
create index schedule_declared on turnabout.schedule (declared_by) where declared_by is not null;

-- What became of the times of a schedule, the last ones only. No time has two jobs.
create table turnabout.schedule_run (
    schedule uuid not null,
    number   bigint not null,
    time     timestamptz not null,
    at       timestamptz not null,
    job      uuid,
    late     double precision not null,      -- seconds
    count    integer not null,
    kind     smallint not null,
    why      text,
    primary key (schedule, number)
);
create unique index schedule_run_once on turnabout.schedule_run (schedule, time) where job is not null;

-- What happened to schedules, for those who follow them; the last ones only. Written under a lock on the table, so that
-- numbers become visible in their order.
create table turnabout.schedule_event (
    number  bigint generated always as identity primary key,
    at      timestamptz not null,
    "group" text collate "C" not null,
    owner   text collate "C" not null,
    name    text collate "C" not null,
    kind    smallint not null
);
