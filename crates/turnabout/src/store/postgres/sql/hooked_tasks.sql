-- The tasks that have this hook. Walks the tasks, which are few.
select name from turnabout.task where hooks & $1 <> 0
