-- Unfinished jobs by task, priority and state. Walks all of them: for operators. Reads only.
-- ?1 group, ?2 owner; null: any.
SELECT task, priority, state, count(*), sum(items), sum(attempts), min(submitted), min(started)
FROM live
WHERE (?1 IS NULL OR "group" = ?1) AND (?2 IS NULL OR owner = ?2)
GROUP BY task, priority, state
ORDER BY task, priority, state
