-- Unfinished jobs by group. Walks all of them: for operators. Reads only.
-- ?1 group, ?2 owner (null: any), ?3 groups after this one, ?4 limit.
SELECT "group", sum(lane IS NOT NULL), sum(due IS NOT NULL), sum(executor IS NOT NULL), sum(items), min(submitted)
FROM live
WHERE "group" > ?3 AND (?1 IS NULL OR "group" = ?1) AND (?2 IS NULL OR owner = ?2)
GROUP BY "group"
ORDER BY "group"
LIMIT ?4
