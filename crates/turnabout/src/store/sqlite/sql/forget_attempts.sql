-- Forgets the attempts of a job that is forgotten, along the primary key.
DELETE FROM job_attempt WHERE job = ?1
