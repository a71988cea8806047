-- Takes everything that is ready in these queues, if that is little and the caller knows all that there is to know: one
-- transaction, without a `begin`; the settings that keep plans from flipping are the function's. Whose turn it is does not
-- matter where everybody's is, so the place in the ring is told, but neither locked nor moved (docs/adr/0011).
--
-- Tells the jobs, each with the place, how often that was moved, how many jobs were seen, and the seconds that it took to
-- look; or no job but the rest where nothing is ready, which writes nothing. Tells nothing, and does nothing, where it takes a look by the rules: there are
-- more than `most` jobs, or some that the executor does not know, or all are in someone else's hands; the settings are not
-- those that are `known`; there is a cap; the executor is not registered (any longer).
--
-- Walks job_ready, by the first jobs of each queue, then goes to the rows where they lie. Rows that someone else has locked
-- are passed over; one that was taken in between lies elsewhere now. An executor that is alive cannot be reaped before this
-- commits. A cap that someone is about to make waits for this; one that is there before the last statement begins is seen
-- by it.
create function turnabout.take_all(
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
    spent double precision;
begin
    select r.place, r."left", r.moves, f.jobs, f.spots, f.familiar into ring
    from turnabout.ring r, turnabout.settings s, (
        select count(*)::integer as jobs, array_agg(j.spot) as spots, bool_and(j.task = any (tasks)) as familiar
        from unnest(queues) as q (name) cross join lateral (
            select j.ctid as spot, j.task from turnabout.job j
            where j.queue = q.name and j.executor is null and j.due is null
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
    return query
        update turnabout.job j
        set executor = me, claim = number, state = taken, reason = null
        where j.ctid = any (array(
                select l.ctid from turnabout.job l
                where l.ctid = any (ring.spots) and num_nonnulls(l.executor, l.due) = 0
                for update skip locked
            ))
            and not exists (select from turnabout.cap)
        returning j.id, j.lane, j.seq, j.queue, j.task, j."group", j.owner, j.priority, j.args, j.items, j.meta,
            j.parent, j.submitted, j.attempts, j.interruptions, j.losses, j.prepared, ring.place, ring."left",
            ring.moves, ring.jobs, spent;
end
$$;
