-- Takes the lowest seqs of each stream (a walk of job_ready from the resume mark on). Rows that another claim has
-- just locked are skipped. Takes nothing for an executor that is no longer registered; one that is cannot be reaped
-- before this commits.
-- $1 executor, $2 claim number, $3 state; then one entry a stream: queue, group, lane, task, mark, limit.
with alive as materialized (
    select from turnabout.executor where incarnation = $1 for key share
),
chosen as materialized (
    select j.place, j.id
    from unnest($4::text[], $5::text[], $6::smallint[], $7::text[], $8::bigint[], $9::int[])
        as s (queue, "group", lane, task, mark, jobs)
    cross join lateral (
        select ctid as place, id from turnabout.job
        where executor is null and due is null and started is null
            and queue = s.queue and "group" = s."group" and lane = s.lane and task = s.task and seq > s.mark
        order by seq limit s.jobs
        for update skip locked
    ) j
    where exists (select from alive)
),
-- What is in whose hands is found by this (docs/adr/0022).
held as (
    insert into turnabout.hold (executor, claim, jobs)
    select $1, $2, array_agg(id) from chosen having count(*) > 0
)
-- The rows are locked, so they are where they were: no second walk of an index.
update turnabout.job j
set executor = $1, claim = $2, state = $3, reason = null
where j.ctid = any (array(select place from chosen))
returning j.id, j.lane, j.seq, j.queue, j.task, j."group", j.owner, j.priority, j.args, j.items, j.meta, j.parent,
    j.submitted, j.attempts, j.interruptions, j.losses, j.prepared
