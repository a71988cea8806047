-- As `schedule_list`, for one group: walks only that part of `schedule_by_key`.
SELECT id, "group", owner, name, said, standing FROM schedule
WHERE "group" = ?4 AND ("group", owner, name) > (?1, ?2, ?3) AND (?5 IS NULL OR owner = ?5) AND (?6 IS NULL OR task = ?6)
ORDER BY "group", owner, name LIMIT ?7
