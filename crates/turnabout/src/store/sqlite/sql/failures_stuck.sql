-- Jobs that wait to be tried again, among the first parked ones up to a limit. Walks `parked`. Reads only.
-- ?1 limit, ?2 characters of the error, ?3 group, ?4 owner (null: any).
SELECT id, task, state, reason, error_code, coalesce(error_message, substr(error, 1, ?2)), coalesce(started, submitted)
FROM (SELECT * FROM job INDEXED BY parked WHERE due IS NOT NULL ORDER BY due, id LIMIT ?1)
WHERE state = 3 AND (?3 IS NULL OR "group" = ?3) AND (?4 IS NULL OR owner = ?4)
