-- The attempts of a job that were not its last, oldest first, along the primary key. Reads only.
SELECT attempt, executor, claim, started, ended, reason, error, error_message, error_code
FROM job_attempt
WHERE job = ?1
ORDER BY n
