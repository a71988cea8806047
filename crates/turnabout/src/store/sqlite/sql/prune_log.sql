-- Forgets the log of a job that prune.sql has forgotten, in the same transaction. By the primary key.
DELETE FROM job_log WHERE job = ?1
