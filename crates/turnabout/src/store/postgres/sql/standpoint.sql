-- Why a job waits: how many are before it in its stream, how many groups are in the rotation (both up to a limit),
-- and when one of those was last heard of who would take it. Walks job_ready, and the executors, of which there are few.
-- Reads only.
-- $1 queue, $2 group, $3 lane, $4 task, $5 seq, $6 limit.
with recursive groups as (
    (select "group", 1 as n from turnabout.job
    where queue = $1 and executor is null and due is null and started is null order by "group" limit 1)
    union all
    select j."group", g.n + 1 from groups g cross join lateral (
        select "group" from turnabout.job
        where queue = $1 and executor is null and due is null and started is null and "group" > g."group"
        order by "group" limit 1
    ) j
    where g.n < $6
)
select (select count(*) from (
        select from turnabout.job
        where executor is null and due is null and started is null
            and queue = $1 and "group" = $2 and lane = $3 and task = $4 and seq < $5 limit $6
    ) before),
    (select count(*) from groups),
    (select max(h.seen) from turnabout.executor e join turnabout.heartbeat h on h.executor = e.incarnation
        where $1 = any (e.queues) and $4 = any (e.tasks) and not e.draining)
