-- A claim stays on the job's page: nothing that it writes into the row is in an index (docs/adr/0022). So indexes of ready jobs
-- have those too that were taken, until they are marked as started, and who holds what is found by a row for each claim.

-- Programs that know nothing of holds must not take jobs any longer.
do $$
begin
    if exists (select from turnabout.executor where seen > clock_timestamp() - interval '1 minute') then
        raise exception 'executors of an older version are running; stop them, wait for a minute, and start again';
    end if;
end
$$;
-- Everybody would wait behind us.
set local lock_timeout = '10s';
lock table turnabout.job in access exclusive mode;

-- What executors have in their hands: a row for each claim, or some, written with it, with the jobs that it took, and maybe
-- others that it did not get. Who holds a job is said by its own row; this only says where to look. A row without a job that is
-- held by its claim never gets one again, and goes.
create table turnabout.hold (
    executor uuid not null,
    claim    bigint not null,
    jobs     uuid[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- Ids do not get smaller by compression.
alter table turnabout.hold alter jobs set storage external;
create index hold_by on turnabout.hold (executor, claim);
insert into turnabout.hold (executor, claim, jobs)
select executor, claim, array_agg(id) from turnabout.job where executor is not null group by executor, claim;

-- What is in an executor's hands, one job by one by the primary key, however large the server thinks that the table is. Claims
-- with a hold that is empty are told without a job.
create function turnabout.in_hand(me uuid) returns table (id uuid, claim bigint, cancelling boolean) language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
    return query
        select distinct j.id, h.claim, j.cancelling
        from turnabout.hold h left join lateral (
            select j.id, j.cancelling from unnest(h.jobs) as u (id) join turnabout.job j on j.id = u.id
            where j.executor = h.executor and j.claim = h.claim
            offset 0
        ) j on true
        where h.executor = me;
end
$$;

-- Holds that are empty go: of these claims, or (null) of all.
create function turnabout.sweep_holds(me uuid, claims bigint[]) returns void language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
begin
    delete from turnabout.hold h
    where h.executor = me and (claims is null or h.claim = any (claims)) and not exists (
        select from unnest(h.jobs) as u (id) join turnabout.job j on j.id = u.id
        where j.executor = h.executor and j.claim = h.claim
        offset 0
    );
end
$$;

-- Room on each page for a second version of every row of it; and one entry for each job in the primary key.
alter table turnabout.job set (fillfactor = 45);
alter index turnabout.job_pkey set (fillfactor = 90);
drop index turnabout.job_held;
-- Jobs that are neither parked nor marked as started. Those that were only just taken are passed over. Task is in it so that
-- jobs of unknown tasks are stepped over.
update turnabout.job set started = null where executor is null and started is not null;
drop index turnabout.job_ready;
create index job_ready on turnabout.job (queue, "group", lane, task, seq) where due is null and started is null;
drop index turnabout.job_expiring;
create index job_expiring on turnabout.job (expires) where expires is not null and started is null;

-- As in 0004_take.sql, with a hold. (Where a cap is made just now, the hold may stay behind, empty.)
create or replace function turnabout.take_all(
    me uuid, number bigint, taken smallint, ring_kind text, queues text[], tasks text[], most integer, known bigint
) returns table (
    id uuid, lane smallint, seq bigint, queue text, task text, "group" text, owner text, priority smallint, args text,
    items integer, meta text, parent uuid, submitted timestamptz, attempts integer, interruptions integer, losses integer,
    prepared boolean, place text, "left" integer, moves bigint, seen integer,
    looked double precision
) language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    began timestamptz := clock_timestamp();
    ring  record;
    drawn bigint;
    spots tid[];
    ids   uuid[];
    spent double precision;
begin
    select r.place, r."left", r.moves, f.jobs, f.spots, f.familiar into ring
    from turnabout.ring r, turnabout.settings s, (
        select count(*)::integer as jobs, array_agg(j.spot) as spots, bool_and(j.task = any (tasks)) as familiar
        from unnest(queues) as q (name) cross join lateral (
            select j.ctid as spot, j.task from turnabout.job j
            where j.queue = q.name and j.executor is null and j.due is null and j.started is null
            order by j."group", j.lane, j.task, j.seq limit most + 1
        ) j
    ) f
    where r.kind = ring_kind and s.version = known
        and exists (select from turnabout.executor e where e.incarnation = me);
    if not found or ring.jobs > most or not ring.familiar then
        return;
    end if;
    spent := extract(epoch from clock_timestamp() - began);
    if ring.jobs = 0 then
        place := ring.place;
        "left" := ring."left";
        moves := ring.moves;
        seen := 0;
        looked := spent;
        return next;
        return;
    end if;
    perform from turnabout.executor e where e.incarnation = me for key share;
    if not found then
        return;
    end if;
    -- Tells the others that what they know is out of date (see sql/draw.sql).
    drawn := nextval('turnabout.job_seq');
    select array_agg(l.ctid), array_agg(l.id) into spots, ids from (
        select l.ctid, l.id from turnabout.job l
        where l.ctid = any (ring.spots) and num_nonnulls(l.executor, l.due) = 0
        for update skip locked
    ) l;
    if ids is null or exists (select from turnabout.cap) then
        return;
    end if;
    insert into turnabout.hold (executor, claim, jobs) values (me, number, ids);
    return query
        update turnabout.job j
        set executor = me, claim = number, state = taken, reason = null
        where j.ctid = any (spots) and not exists (select from turnabout.cap)
        returning j.id, j.lane, j.seq, j.queue, j.task, j."group", j.owner, j.priority, j.args, j.items, j.meta,
            j.parent, j.submitted, j.attempts, j.interruptions, j.losses, j.prepared, ring.place, ring."left",
            ring.moves, ring.jobs, spent;
end
$$;
