-- A task is limited from now on: the jobs that there are count. Walks the table; only when a task that had no limit is
-- published with one.
update turnabout.job set limited = true where task = $1 and not limited
