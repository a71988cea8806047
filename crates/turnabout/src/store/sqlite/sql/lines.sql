-- A page of a job's log, along the primary key. Reads only.
SELECT number, attempt, time, level, message FROM job_log WHERE job = ?1 AND number > ?2 ORDER BY number LIMIT ?3
