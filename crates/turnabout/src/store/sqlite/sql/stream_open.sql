-- Begins a stream, paused if its group is. `streams` holds that there is one of each; in the transaction that found none.
INSERT INTO stream (queue, "group", lane, task, jobs, cursor, dead, paused)
VALUES (?1, ?2, ?3, ?4, 0, 0, 0, EXISTS (SELECT 1 FROM group_setting WHERE "group" = ?2 AND paused))
