-- When the next schedule is due. Walks `schedule_due`, one entry.
SELECT due FROM schedule INDEXED BY schedule_due WHERE due IS NOT NULL ORDER BY due LIMIT 1
