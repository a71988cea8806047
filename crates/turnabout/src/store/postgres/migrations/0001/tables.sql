-- The tables: live jobs, ended jobs, executors, tasks, settings. Those that a take walks are in streams.sql.

-- Live jobs: unfinished ones only, so that the table stays small. Names are compared bytewise: faster, and the same
-- order as SQLite. The wide columns come last.
create sequence turnabout.job_seq;
create table turnabout.job (
    id            uuid primary key,
    seq           bigint not null default nextval('turnabout.job_seq'),  -- place in its lane
    submitted     timestamptz not null,
    due           timestamptz,               -- parked until then
    expires       timestamptz,
    started       timestamptz,
    executor      uuid,                      -- who holds it, by which claim
    claim         bigint,
    parent        uuid,
    attempts      integer not null default 0,
    interruptions integer not null default 0,
    losses        integer not null default 0,
    items         integer not null default 1,
    state         smallint not null default 0,
    lane          smallint not null,         -- where it is, or was last, ready
    priority      smallint not null default 2,
    reason        smallint,
    cancelling    boolean not null default false,
    prepared      boolean not null default false,  -- whether its task has prepared the arguments
    limited       boolean not null default false,  -- whether submits count it
    queue         text collate "C" not null,
    "group"       text collate "C" not null,
    task          text collate "C" not null,
    owner         text collate "C",
    unique_key    text collate "C",
    args          text not null,
    meta          text,
    subject       text,
    error         text,
    error_message text,                      -- the same for people, and for programs, as the task describes it
    error_code    text,
    -- What nobody could read is not let in: unknown codes, and moments that clocks do not show.
    check (state between 0 and 6 and lane between 0 and 3 and priority between 1 and 3
        and submitted > '-infinity' and submitted < '9999-12-31Z' and due > '-infinity' and due < '9999-12-31Z'
        and expires > '-infinity' and expires < '9999-12-31Z')
) with (
    -- Room on each page for a second version of every row: a claim stays on its page (docs/adr/0022). And vacuum long
    -- before dead rows pile up.
    fillfactor = 45,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 5000
);
-- No index may name `executor` or `claim`, not even in its condition, or a claim would write every index.
-- The streams, each in the order of `seq`: what a claim walks. Jobs that were taken and have not started are passed over.
create index job_ready on turnabout.job (queue, "group", lane, task, seq) where due is null and started is null;
create index job_parked on turnabout.job (due, seq) where due is not null;
create index job_expiring on turnabout.job (expires) where expires is not null and started is null;
create unique index job_unique on turnabout.job ("group", task, unique_key) where unique_key is not null;
create index job_children on turnabout.job (parent) where parent is not null;
-- Only jobs that come under a limit on unfinished jobs: what submits count.
create index job_limited on turnabout.job ("group", task, coalesce(owner, '')) where limited;

-- Ended jobs, a partition for each day of ids (UUIDv7), so that a get looks into one partition and a day goes at once.
create table turnabout.job_history (
    id            uuid primary key,
    submitted     timestamptz not null,
    expires       timestamptz,
    started       timestamptz,
    finished      timestamptz not null,
    executor      uuid,
    claim         bigint,
    parent        uuid,
    attempts      integer not null,
    interruptions integer not null,
    losses        integer not null,
    items         integer not null,
    state         smallint not null,
    priority      smallint not null,
    reason        smallint,
    prepared      boolean not null default false,
    queue         text collate "C" not null,
    "group"       text collate "C" not null,
    task          text collate "C" not null,
    owner         text collate "C",
    unique_key    text collate "C",
    args          text not null,
    meta          text,
    subject       text,
    error         text,
    error_message text,
    error_code    text,
    result        text,
    percent       smallint,                  -- how far it came, if it has not succeeded
    step          text
) partition by range (id);
-- Only who says `state >= 0`, which all are, may use it: on partitions that were empty when a plan was made it would look
-- as cheap for an id as the primary key, and be walked from end to end.
create index job_history_group on turnabout.job_history ("group", id) where state >= 0;
create index job_history_children on turnabout.job_history (parent) where parent is not null;
-- Rows come in the order in which jobs end, so that this costs next to nothing; what ended lately is found by it.
create index job_history_finished on turnabout.job_history using brin (finished)
    with (pages_per_range = 32, autosummarize = on);
-- What failed is found without a walk through all that succeeded.
create index job_history_failed on turnabout.job_history (finished) where state = 5;
create index job_history_failed_id on turnabout.job_history (id) where state = 5;
create index job_history_failed_group on turnabout.job_history ("group", finished) where state = 5;

-- How far held jobs are, as their handlers report it. Not written to the WAL: after a crash they report again. Apart from
-- the jobs, so that a handler's transaction finds its own row unchanged. Updates stay on their page.
create unlogged table turnabout.progress (
    job      uuid primary key,
    executor uuid not null,                  -- by which claim: what an earlier one reported does not count
    claim    bigint not null,
    percent  smallint not null,
    step     text
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- What handlers write about their work, kept as long as the job. A partition for each day of job ids, made when the first
-- line of such a day is written.
create table turnabout.job_log (
    job     uuid not null,
    number  bigint not null,                 -- grows; what is missing was dropped
    attempt integer not null,
    level   smallint not null,
    time    timestamptz not null,
    message text not null,
    primary key (job, number)
) partition by range (job);

-- Attempts that were not their job's last; the last one stands in the job itself. In days, as logs.
create table turnabout.job_attempt (
    job           uuid not null,
    n             integer not null,          -- grows
    attempt       integer not null,
    executor      uuid not null,
    claim         bigint not null,
    started       timestamptz not null,
    ended         timestamptz not null,
    reason        smallint,                  -- none: it succeeded, and the job was restarted
    error         text,
    error_message text,
    error_code    text,
    primary key (job, n)
) partition by range (job);

-- Who runs jobs. A claim locks this row, so that one that was reaped takes nothing more. Hardly ever updated: a claim would
-- walk through the dead versions.
create table turnabout.executor (
    incarnation uuid primary key,
    kind        integer not null,
    name        text not null,
    slots       integer not null,
    queues      text[] not null,
    tasks       text[] not null,
    version     text not null,
    draining    boolean not null default false,   -- an operator wants it to take no more jobs
    dismissed   boolean not null default false,   -- and to end
    since       timestamptz not null
);
-- What executors are called, also those that have left: jobs and attempts name an incarnation. Forgotten a year after.
create table turnabout.executor_name (
    incarnation uuid primary key,
    name        text not null,
    since       timestamptz not null
);
create table turnabout.heartbeat (
    executor uuid primary key,
    number   bigint not null,
    seen     timestamptz not null
) with (fillfactor = 10);

-- Which jobs executors hold: a row for each claim, or some, written with the claim. A job's own row says who holds it; this
-- only says where to look. A row without a job that is held by its claim never gets one again, and goes.
create table turnabout.hold (
    executor uuid not null,
    claim    bigint not null,
    jobs     uuid[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- Ids do not get smaller by compression.
alter table turnabout.hold alter jobs set storage external;
create index hold_by on turnabout.hold (executor, claim);

-- What groups have cost, where jobs are not counted but weighed.
create table turnabout.account (
    kind    text not null,
    "group" text collate "C" not null,
    spent   double precision not null,
    touched timestamptz not null,
    primary key (kind, "group")
) with (fillfactor = 50);

-- Tasks as their code describes them, for those who submit without the code.
create table turnabout.task (
    name        text collate "C" primary key,
    queue       text collate "C" not null,
    priority    smallint not null,
    retries     integer not null,
    retry_delay double precision not null,   -- seconds
    retry_cap   double precision not null,
    jitter      boolean not null,
    restartable boolean not null,
    time_limit  double precision,
    max_unfinished integer,                  -- per group and owner
    hooks       smallint not null
);
create index task_limited on turnabout.task (name) where max_unfinished is not null;

-- Where jobs under a limit come in, one after the other: a row for each group, task and owner that is limited (no task:
-- the whole group). A row and not an advisory lock, so that a transaction with an older snapshot fails, and does not
-- count what it cannot see.
create table turnabout.gate (
    "group" text collate "C" not null,
    task    text collate "C" not null,
    owner   text collate "C" not null,
    passed  timestamptz not null,
    primary key ("group", task, owner)
) with (fillfactor = 50);

-- Hooks that are owed: noted with the change of a job that they are about, struck off when they have run.
create table turnabout.owed (
    number bigint generated always as identity primary key,
    task   text collate "C" not null,
    hook   smallint not null,
    tries  integer not null default 0,
    since  timestamptz not null,
    due    timestamptz not null,
    job    text not null                     -- as it was then, as JSON
);

-- What operators set. `version` grows with every change, so that a take notices.
-- `retention` is JSON: final state -> seconds. Here it is what holds for everything.
create table turnabout.settings (
    single    boolean primary key default true check (single),
    version   bigint not null,
    retention text not null default '{}',
    paused    boolean not null default false
);
insert into turnabout.settings values (true, 0);
create table turnabout.group_setting (
    name        text collate "C" primary key,  -- empty: what holds for every group that has nothing of its own
    weight      integer,
    max_running integer,
    paused      boolean not null,
    max_unfinished integer,
    retention   text not null default '{}',
    rate        text,
    max_share   integer,                     -- of a hundred slots of each executor
    max_unknown_tasks integer                -- of unfinished jobs; 1000 unless it is set
);
create index group_limited on turnabout.group_setting (name) where max_unfinished is not null;
create index group_weighted on turnabout.group_setting (name) where weight > 1;
create index group_paused on turnabout.group_setting (name) where paused;
create table turnabout.task_limit (
    name        text collate "C" primary key,
    max_running integer,
    paused      boolean not null,
    retention   text not null default '{}',
    max_running_each integer,
    rate        text
);
create table turnabout.queue_setting (
    name   text collate "C" primary key,
    paused boolean not null
);
-- How many jobs of a capped group or task are held: a row only for what is capped. What is capped and has no row holds nothing:
-- a claim makes it, and prune_idle.sql forgets it.
create table turnabout.cap (
    kind    smallint not null,               -- 0 group, 1 task
    name    text collate "C" not null,
    running integer not null,
    primary key (kind, name)
) with (fillfactor = 50);

-- When the bucket of a rate will be full again, in nanoseconds since 1970: a row for each group or task that has a rate. No
-- row: it is full. Claims of their jobs lock it, and nobody else does.
create table turnabout.rate (
    kind   smallint not null,                -- 0 group, 1 task
    name   text collate "C" not null,
    "full" bigint not null,
    primary key (kind, name)
) with (fillfactor = 50);

-- How the jobs stand that were submitted with a key and a rate, in nanoseconds since 1970: when the bucket will be full, and the
-- next moments to which jobs may be put off (those that have just come, those that came back). A row says nothing when all are past.
create table turnabout.rate_key (
    key    text collate "C" primary key,
    "full" bigint not null,
    next   bigint not null,
    late   bigint not null
) with (fillfactor = 50);

-- Places under caps that were given back inside handlers' transactions. Only added to there: an update of the counter
-- itself would fail at the stricter isolation levels, since others write it all the time. Folded into the counters soon
-- after by fold_freed.sql.
create table turnabout.freed (kind smallint not null, name text collate "C" not null);

-- Until when someone watches, in which epoch, and up to which number the hints are forgotten: one row.
create table turnabout.feed (
    single    boolean primary key default true check (single),
    epoch     bigint not null default 0,
    until     timestamptz not null default '-infinity',
    forgotten bigint not null default 0
) with (fillfactor = 10);
insert into turnabout.feed default values;
-- Hints: which jobs have changed while someone watched. Written after the change, under a lock, so that numbers become
-- visible in their order. `last` is what a job was at its end, if it is not kept.
create table turnabout.hint (
    number  bigint generated always as identity primary key,
    job     uuid not null,
    "group" text collate "C" not null,
    owner   text collate "C",
    told    timestamptz not null,
    last    text
);

-- Keys by which servers sign the tokens that they mint for browsers. A new one each day; old ones go when nothing that
-- they have signed is valid any longer.
create table turnabout.signing_key (
    number bigint generated always as identity primary key,
    secret bytea not null,
    made   timestamptz not null
);
-- Who did what, and when. Only added to, and forgotten by prune_audit.sql.
create table turnabout.audit (
    number  bigint generated always as identity primary key,
    at      timestamptz not null,
    by      text not null,
    role    text not null,
    address text,
    action  text not null,
    target  text collate "C",
    "group" text collate "C",
    filter  text,
    count   bigint,
    before  text,
    after   text,
    note    text
);
create index audit_target on turnabout.audit (target, number) where target is not null;
create index audit_at on turnabout.audit (at);
