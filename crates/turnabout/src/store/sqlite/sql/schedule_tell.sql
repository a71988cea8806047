-- Notes that something happened to a schedule.
INSERT INTO schedule_event ("group", owner, name, kind, at) VALUES (?1, ?2, ?3, ?4, ?5)
