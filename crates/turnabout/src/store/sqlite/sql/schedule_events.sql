-- What happened to schedules after this number. Walks the primary key.
SELECT number, "group", owner, name, kind, at FROM schedule_event WHERE number > ?1 ORDER BY number LIMIT ?2
