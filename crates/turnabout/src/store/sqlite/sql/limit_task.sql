-- A task is limited from now on: the jobs that there are count. As limit_group.sql.
UPDATE job SET limited = 1 WHERE task = ?1 AND NOT limited
