-- The attempts of a job that were not its last, oldest first, along the primary key. Reads only.
SELECT attempt, executor, claim, started, ended, reason, error, error_message, error_code,
       (SELECT name FROM executor_name AS n WHERE n.incarnation = job_attempt.executor)
FROM job_attempt
WHERE job = ?1
ORDER BY n
