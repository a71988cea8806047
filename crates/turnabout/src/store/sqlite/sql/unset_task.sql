-- A task has the defaults again. By the primary key.
DELETE FROM task_limit WHERE task = ?1
