-- Jobs that failed, newest first, up to a limit. Walks `history_failed`, which holds nothing else. Reads only.
-- ?1 since, ?2 before then, ?3 limit, ?4 characters of the error.
SELECT id, task, state, reason, error_code, coalesce(error_message, substr(error, 1, ?4)), finished
FROM job_history INDEXED BY history_failed
WHERE state = 5 AND finished >= ?1 AND finished < ?2
ORDER BY finished DESC
LIMIT ?3
