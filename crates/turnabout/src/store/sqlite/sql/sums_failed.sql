-- Failed jobs (5) by task, priority and state: all that are kept. Walks `history_failed`. Reads only.
-- ?1 group, ?2 owner; null: any.
SELECT task, priority, state, count(*), sum(items), sum(attempts), min(submitted), min(started)
FROM job_history INDEXED BY history_failed
WHERE state = 5 AND (?1 IS NULL OR "group" = ?1) AND (?2 IS NULL OR owner = ?2)
GROUP BY task, priority, state
ORDER BY task, priority, state
