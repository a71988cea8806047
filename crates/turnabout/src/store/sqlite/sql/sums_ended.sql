-- Jobs that have ended since, by task, priority and state. Walks `history_by_end` from there. Reads only.
-- ?1 group, ?2 owner (null: any), ?3 since.
SELECT task, priority, state, count(*), sum(items), sum(attempts), min(submitted), min(started)
FROM job_history INDEXED BY history_by_end
WHERE finished >= ?3 AND (?1 IS NULL OR "group" = ?1) AND (?2 IS NULL OR owner = ?2)
GROUP BY task, priority, state
ORDER BY task, priority, state
