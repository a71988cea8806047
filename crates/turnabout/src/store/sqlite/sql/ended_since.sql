-- Jobs that ended from one moment to another, up to a limit. Walks `history_by_end` from there. Reads only.
SELECT "group", task, state, reason, submitted, started, finished, attempts
FROM job_history INDEXED BY history_by_end
WHERE finished >= ?1 AND finished < ?2
LIMIT ?3
