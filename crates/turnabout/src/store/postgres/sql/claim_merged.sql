-- As claim.sql, for lanes that have several streams (tasks or queues): the lowest seqs over all streams of a pick.
-- Candidates are read a little ahead without locks, then locked in order, where they lie, until the pick is full. One
-- that was claimed in between lies elsewhere now: it is not updated, whatever the lock says.
-- $1 executor, $2 claim number, $3 state; then one entry a stream: pick, jobs of the pick, queue, group, lane, task,
-- mark, candidates.
with alive as materialized (
    select from turnabout.executor where incarnation = $1 for key share
),
stream as materialized (
    select * from unnest($4::int[], $5::int[], $6::text[], $7::text[], $8::smallint[], $9::text[], $10::bigint[],
        $11::int[]) as s (pick, jobs, queue, "group", lane, task, mark, candidates)
),
chosen as materialized (
    select j.place, j.id
    from (select distinct pick, jobs, lane from stream) p
    cross join lateral (
        select j.ctid as place, j.id
        from (
            select c.place, c.seq from stream s cross join lateral (
                select ctid as place, seq from turnabout.job
                where executor is null and due is null and started is null
                    and queue = s.queue and "group" = s."group" and lane = s.lane and task = s.task and seq > s.mark
                order by seq limit s.candidates
            ) c
            where s.pick = p.pick
        ) c
        join turnabout.job j on j.ctid = c.place
        order by c.seq limit p.jobs
        for update of j skip locked
    ) j
    where exists (select from alive)
),
-- What is in whose hands is found by this (docs/adr/0022).
held as (
    insert into turnabout.hold (executor, claim, jobs)
    select $1, $2, array_agg(id) from chosen having count(*) > 0
)
update turnabout.job j
set executor = $1, claim = $2, state = $3, reason = null
where j.ctid = any (array(select place from chosen))
returning j.id, j.lane, j.seq, j.queue, j.task, j."group", j.owner, j.priority, j.args, j.items, j.meta, j.parent,
    j.submitted, j.attempts, j.interruptions, j.losses, j.prepared
