-- Sets something for a group. By the primary key; who comes last is right.
REPLACE INTO group_setting ("group", weight, max_running, paused, max_unfinished, retention, rate, max_share, max_unknown_tasks)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
