-- The newest entry about something. Finds it by `audit_by_target`. Reads only.
SELECT number, at, by, role, address, action, target, "group", filter, count, before, after, note
FROM audit INDEXED BY audit_by_target
WHERE target = ?1
ORDER BY number DESC
LIMIT 1
