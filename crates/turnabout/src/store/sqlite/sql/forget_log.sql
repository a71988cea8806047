-- Forgets the log of a job that is forgotten, along the primary key.
DELETE FROM job_log WHERE job = ?1
