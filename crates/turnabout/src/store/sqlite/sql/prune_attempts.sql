-- Forgets the attempts of a job that prune.sql has forgotten, in the same transaction. By the primary key.
DELETE FROM job_attempt WHERE job = ?1
