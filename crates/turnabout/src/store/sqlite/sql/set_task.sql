-- Sets something for a task. By the primary key; who comes last is right.
REPLACE INTO task_limit (task, max_running, paused, retention, max_running_each, rate) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
