-- What is set for groups, and (without a name) for all that have nothing of their own. Walks the table: only groups for which something is set are in it.
SELECT "group", weight, max_running, paused, max_unfinished, retention, rate, max_share, max_unknown_tasks FROM group_setting
