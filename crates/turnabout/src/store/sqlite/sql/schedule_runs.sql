-- What became of the times of a schedule, newest first. Walks the primary key.
SELECT number, time, count, kind, at, late, job, why FROM schedule_run
WHERE schedule = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3
