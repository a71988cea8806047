-- All executors by name, and how many jobs each holds. Walks the table of executors, and job_held for each. Reads only.
select incarnation, name, slots, queues, tasks, version, beat, seen,
    (select count(*) from turnabout.job j where j.executor = e.incarnation) as held, draining
from turnabout.executor e
order by name collate "C", incarnation
