-- Schedules that are due, the longest due first. Walks `schedule_due`, as many entries as asked for; in the transaction that
-- then moves them on, so that nobody else can see them due.
SELECT id, "group", owner, name, said, standing FROM schedule INDEXED BY schedule_due
WHERE due <= ?1 ORDER BY due LIMIT ?2
