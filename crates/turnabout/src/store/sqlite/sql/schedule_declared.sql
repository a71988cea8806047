-- The schedules that a deployment has declared. Walks `schedule_declared`.
SELECT "group", owner, name FROM schedule INDEXED BY schedule_declared WHERE declared_by = ?1
