-- All executors by name, and how many jobs each holds. Walks the table of executors, and the holds of each (one job by one, by
-- the primary key). Reads only.
select incarnation, name, slots, queues, tasks, version, beat, seen, (
        select count(distinct j.id)
        from turnabout.hold h cross join unnest(h.jobs) as u (id) cross join lateral (
            select id, executor, claim from turnabout.job where id = u.id offset 0
        ) j
        where h.executor = e.incarnation and j.executor = h.executor and j.claim = h.claim
    ) as held, draining
from turnabout.executor e
order by name collate "C", incarnation
