-- Jobs that have ended since, by task, priority and state. Walks `history_by_end` from there. Reads only.
-- A cancelled job (6) that had started was cancelled in its last attempt, which did not fail.
-- ?1 group, ?2 owner (null: any), ?3 since.
SELECT task, priority, state, count(*), sum(items), sum(attempts - (state = 6 AND started IS NOT NULL)), min(submitted), min(started)
FROM job_history INDEXED BY history_by_end
WHERE finished >= ?3 AND (?1 IS NULL OR "group" = ?1) AND (?2 IS NULL OR owner = ?2)
GROUP BY task, priority, state
ORDER BY task, priority, state
