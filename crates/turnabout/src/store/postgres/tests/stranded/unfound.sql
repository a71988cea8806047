-- Ready jobs that executors of a kind cannot find: none of the kind's open streams begins at or before them, and no arrival that
-- the kind has still to file. One statement, so that all of it is seen at one moment.
with ring as (select distinct on (kind) * from turnabout.ring order by kind, n desc)
select format('%s: %s of %s, lane %s, queue %s, task %s, seq %s', k.name, j.id, j."group", j.lane, j.queue, j.task, j.seq)
from turnabout.kind k join ring r on r.kind = k.id
join turnabout.job j on j.queue = any (k.queues) and j.task = any (k.tasks)
where exists (select from turnabout.executor e where e.kind = k.id)
    and j.executor is null and j.due is null and j.started is null
    and not turnabout.is_paused(j.queue, j."group", j.task)
    and not exists (
        select from turnabout.stream s
        where s.kind = k.id and s.gen = r.gen and s."group" = j."group" and s.lane = j.lane and s.queue = j.queue
            and s.task = j.task and s.first <= j.seq)
    and not exists (
        select from turnabout.arrival a
        where (a.tx >= pg_snapshot_xmax(r.seen) or a.tx in (select pg_snapshot_xip(r.seen))) and a."group" = j."group"
            and a.lane = j.lane and a.queue = j.queue and a.task = j.task and a.first <= j.seq)
limit 5
