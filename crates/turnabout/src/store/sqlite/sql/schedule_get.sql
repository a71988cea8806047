-- A schedule by its key. By `schedule_by_key`.
SELECT id, "group", owner, name, said, standing FROM schedule WHERE "group" = ?1 AND owner = ?2 AND name = ?3
