-- All executors by name. Walks the table of executors. Reads only.
select e.incarnation, e.name, e.slots, e.queues, e.tasks, e.version, h.number
from turnabout.executor e join turnabout.heartbeat h on h.executor = e.incarnation
order by e.name collate "C", e.incarnation
