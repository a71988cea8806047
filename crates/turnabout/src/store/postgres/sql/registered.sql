-- All executors by name. Walks the table of executors. Reads only.
select incarnation, name, slots, queues, tasks, version, beat
from turnabout.executor
order by name collate "C", incarnation
