-- All executors by name, and how many jobs each holds. Walks the table of executors, and the holds of each. Reads only.
select e.incarnation, e.name, e.slots, e.queues, e.tasks, e.version, h.number, h.seen,
    (select count(j.id) from turnabout.in_hand(e.incarnation, null) j) as held, e.draining
from turnabout.executor e join turnabout.heartbeat h on h.executor = e.incarnation
order by e.name collate "C", e.incarnation
