-- One group's jobs that failed, newest first, up to a limit. Walks `history_failed_of_group`. Reads only.
-- ?1 since, ?2 before then, ?3 limit, ?4 characters of the error, ?5 group, ?6 owner (null: any).
SELECT id, task, state, reason, error_code, coalesce(error_message, substr(error, 1, ?4)), finished
FROM job_history INDEXED BY history_failed_of_group
WHERE state = 5 AND "group" = ?5 AND finished >= ?1 AND finished < ?2 AND (?6 IS NULL OR owner = ?6)
ORDER BY finished DESC
LIMIT ?3
