-- Forgets what was set for a task: the defaults hold again.
delete from turnabout.task_limit where name = $1
