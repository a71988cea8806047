-- Keeps an attempt that was not its job's last. By the primary key, in the transaction that writes what became of the job.
INSERT INTO job_attempt (job, n, attempt, executor, claim, started, ended, reason, error, error_message, error_code)
VALUES (?1, (SELECT coalesce(max(n), 0) + 1 FROM job_attempt WHERE job = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
