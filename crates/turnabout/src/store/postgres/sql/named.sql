-- The executors of a name. Walks the table of executors, which is short, and nothing that they hold. Reads only.
-- $1 name.
select e.incarnation, e.name, e.slots, e.queues, e.tasks, e.version, h.number
from turnabout.executor e join turnabout.heartbeat h on h.executor = e.incarnation
where e.name = $1
order by e.incarnation
