-- What a take walks: which streams may have ready jobs, and whose turn it is (docs/adr/0011).
--
-- A kind of executors has the same queues and tasks. Each kind has its own ring, and its own list of open streams: those
-- that have, or had a moment ago, ready jobs which an executor of the kind may run. Whoever makes a job ready appends an
-- arrival, in the same transaction, and waits for nobody; so does whoever takes what may be the last job of a stream. A take
-- files the arrivals that have become visible since the take before, under the lock of the kind: it opens streams, and closes
-- those that are empty.
--
-- What is current is the newest row, or the newest generation; within a generation few rows are written again. So a snapshot
-- that somebody holds for an hour does not make takes walk through an hour of dead versions.

-- A row is only ever locked: `for update` marks it in place.
create table turnabout.kind (
    id     integer generated always as identity primary key,
    name   text not null unique,
    queues text[] not null,
    tasks  text[] not null
);

-- Where a kind is: the row with the highest number counts.
create table turnabout.ring (
    kind    integer not null,
    n       bigint not null,
    place   text collate "C" not null,   -- the group visited last
    "left"  integer not null,            -- how many jobs of that visit are still to come
    seen    pg_snapshot not null,        -- arrivals that are visible in it have been filed
    gen     bigint not null,             -- the generation of its streams
    worn    bigint not null,             -- how many streams were opened or changed and jobs wanted since the generation began
    live    bigint not null,             -- how many streams it began with
    version bigint not null,             -- the settings that the streams obey: what is paused has none
    primary key (kind, n)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Open streams. No ready job of a stream has a lower `seq` than `first`, as far as arrivals were filed. After the job `last`
-- there may be none: who takes that one, or a later one, says so.
create table turnabout.stream (
    kind    integer not null,
    gen     bigint not null,
    "group" text collate "C" not null,
    lane    smallint not null,
    queue   text collate "C" not null,
    task    text collate "C" not null,
    first   bigint not null,
    last    bigint not null,
    primary key (kind, gen, "group", lane, queue, task)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Jobs have become ready, or (without `first`) there may be none left: a row for each stream and statement. Forgotten by
-- prune_arrivals.sql when all kinds have filed it.
create table turnabout.arrival (
    tx      xid8 not null default pg_current_xact_id(),
    queue   text collate "C" not null,
    "group" text collate "C" not null,
    lane    smallint not null,
    task    text collate "C" not null,
    first   bigint                       -- the lowest `seq` of these jobs
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
create index arrival_tx on turnabout.arrival (tx);

-- Opens all streams of a kind that have ready jobs, in a new generation: for the first executor of a kind, and to heal. Steps
-- from one stream to the next through job_ready. The caller has locked the kind.
create function turnabout.open_streams(of_kind integer) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    k   turnabout.kind;
    r   turnabout.ring;
begin
    select * into k from turnabout.kind where id = of_kind;
    select * into r from turnabout.ring where kind = of_kind order by n desc limit 1;
    if not found then
        r := row(of_kind, 0, '', 0, pg_current_snapshot(), 0, 0, 0, 0)::turnabout.ring;
    end if;
    delete from turnabout.stream where kind = of_kind;
    r.gen := r.gen + 1;
    select s.version into r.version from turnabout.settings s;
    with recursive walk as (
        select q.name as queue, j."group", j.lane, j.task, j.seq
        from unnest(k.queues) as q (name) cross join lateral (
            select "group", lane, task, seq from turnabout.job
            where queue = q.name and executor is null and due is null and started is null
            order by "group", lane, task, seq limit 1
        ) j
        union all
        select w.queue, j."group", j.lane, j.task, j.seq
        from walk w cross join lateral (
            select "group", lane, task, seq from turnabout.job
            where queue = w.queue and executor is null and due is null and started is null
                and ("group", lane, task) > (w."group", w.lane, w.task)
            order by "group", lane, task, seq limit 1
        ) j
    ),
    opened as (
        insert into turnabout.stream (kind, gen, "group", lane, queue, task, first, last)
        select of_kind, r.gen, w."group", w.lane, w.queue, w.task, w.seq, w.seq from walk w
        where w.task = any (k.tasks) and not turnabout.is_paused(w.queue, w."group", w.task)
        returning 1
    )
    -- One statement, so that the snapshot is the one by which jobs were seen.
    select pg_current_snapshot(), count(*) into r.seen, r.live from opened;
    r.worn := 0;
    r.n := r.n + 1;
    insert into turnabout.ring values (r.*);
end
$$;

-- Whether something may be ready for a kind: streams are open, arrivals have not been filed, or what is paused has changed.
-- One statement: by one snapshot these say all there is to say.
create function turnabout.is_ready(of_kind integer) returns boolean language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
begin
    -- In PL/pgSQL, which keeps the plan: a function in SQL is planned by every statement that calls it. By subqueries with a
    -- limit: `exists` may be planned as a table of all streams.
    return coalesce((
        select s.version <> r.version
            or (select true from turnabout.stream t where t.kind = r.kind and t.gen = r.gen limit 1) is not null
            or (select true from turnabout.arrival a where a.tx >= pg_snapshot_xmax(r.seen) limit 1) is not null
            or (select true from turnabout.arrival a
                where a.tx = any (array(select pg_snapshot_xip(r.seen))) limit 1) is not null
        from turnabout.settings s, (select * from turnabout.ring x where x.kind = of_kind order by x.n desc limit 1) r
    ), true);
end
$$;

-- Whether jobs of a queue, of a group or of a task are not to be taken, or none at all.
create function turnabout.is_paused(queue text, "group" text, task text) returns boolean language sql stable as $$
    select exists (select from turnabout.settings s where s.paused)
        or exists (select from turnabout.queue_setting q where q.name = $1 and q.paused)
        or exists (select from turnabout.group_setting g where g.name = $2 and g.paused)
        or exists (select from turnabout.task_limit t where t.name = $3 and t.paused)
$$;

-- Announces all ready jobs of a queue, of a group or of a task, which are paused no longer (null: of any). The caller has locked all kinds, so that none
-- of them files an arrival as paused after this has looked for jobs. Steps through job_ready.
create function turnabout.announce(of_queue text, of_group text, of_task text) returns void language sql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    insert into turnabout.arrival (queue, "group", lane, task, first)
    with recursive walk as (
        select q.name as queue, j."group", j.lane, j.task, j.seq
        from (select distinct unnest(queues) as name from turnabout.kind) q cross join lateral (
            select "group", lane, task, seq from turnabout.job
            where queue = q.name and executor is null and due is null and started is null
                and "group" >= coalesce(of_group, '')
            order by "group", lane, task, seq limit 1
        ) j
        where (of_queue is null or q.name = of_queue) and (of_group is null or j."group" = of_group)
        union all
        select w.queue, j."group", j.lane, j.task, j.seq
        from walk w cross join lateral (
            select "group", lane, task, seq from turnabout.job
            where queue = w.queue and executor is null and due is null and started is null
                and ("group", lane, task) > (w."group", w.lane, w.task)
            order by "group", lane, task, seq limit 1
        ) j
        where of_group is null or j."group" = of_group
    )
    select queue, "group", lane, task, seq from walk where of_task is null or task = of_task
$$;

-- Makes a kind of executors known, and tells its number. The first executor of a kind opens its streams, since nobody has
-- filed arrivals for it. prune_arrivals.sql waits for this.
create function turnabout.join_kind(of_name text, of_queues text[], of_tasks text[]) returns integer language plpgsql as $$
#variable_conflict use_column
declare
    k turnabout.kind;
begin
    lock table turnabout.kind in row exclusive mode;
    insert into turnabout.kind (name, queues, tasks) values (of_name, of_queues, of_tasks) on conflict do nothing;
    select * into k from turnabout.kind where name = of_name for update;
    if not exists (select from turnabout.executor e where e.kind = k.id) then
        perform turnabout.open_streams(k.id);
    end if;
    return k.id;
end
$$;

-- Wakes whoever sleeps in another process: those hold a lock, shared, while they sleep. Costs next to nothing while everyone
-- is busy. A process does not listen to its own token.
create function turnabout.wake(token text default '') returns void language plpgsql volatile as $$
begin
    if pg_try_advisory_lock(hashtext('turnabout'), 3) then
        perform pg_advisory_unlock(hashtext('turnabout'), 3);
    else
        perform pg_notify('turnabout', 'ready ' || token);
    end if;
end
$$;
