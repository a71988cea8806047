-- What is set for tasks. Walks the table: only tasks for which something is set are in it.
SELECT task, max_running, paused, retention, max_running_each, rate FROM task_limit
