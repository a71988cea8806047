-- A page of the audit log, newest first. Walks the primary key backwards. Reads only.
-- ?1 before this number, ?2 by, ?3 action, ?4 target, ?5 group, ?6 since (null: any), ?7 limit.
SELECT number, at, by, role, address, action, target, "group", filter, count, before, after, note
FROM audit
WHERE number < ?1
  AND (?2 IS NULL OR by = ?2)
  AND (?3 IS NULL OR action = ?3)
  AND (?4 IS NULL OR target = ?4)
  AND (?5 IS NULL OR "group" = ?5)
  AND (?6 IS NULL OR at >= ?6)
ORDER BY number DESC
LIMIT ?7
