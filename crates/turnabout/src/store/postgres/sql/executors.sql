-- All executors by name, and how many jobs each holds. Walks the table of executors, and the holds of each. Reads only.
select incarnation, name, slots, queues, tasks, version, beat, seen,
    (select count(h.id) from turnabout.in_hand(e.incarnation) h) as held, draining
from turnabout.executor e
order by name collate "C", incarnation
