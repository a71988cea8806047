-- What is set for groups. Walks the table: only groups for which something is set are in it.
SELECT "group", weight, max_running, paused, max_unfinished, retention, rate FROM group_setting
