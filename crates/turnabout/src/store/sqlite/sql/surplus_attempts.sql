-- Forgets all but the newest attempts of a job. By the primary key.
DELETE FROM job_attempt WHERE job = ?1 AND n <= (SELECT max(n) FROM job_attempt WHERE job = ?1) - ?2
