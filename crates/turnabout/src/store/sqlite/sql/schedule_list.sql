-- Schedules in the order of their keys, after one of them. Walks `schedule_by_key`; those that do not match are stepped over,
-- which are none where a group is given, except for its other owners.
SELECT id, "group", owner, name, said, standing FROM schedule
WHERE ("group", owner, name) > (?1, ?2, ?3)
  AND (?4 IS NULL OR ("group" = ?4)) AND (?5 IS NULL OR owner = ?5) AND (?6 IS NULL OR task = ?6)
ORDER BY "group", owner, name LIMIT ?7
