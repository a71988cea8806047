-- Forgets the attempts of jobs that are gone, as prune_orphan_logs.sql does their logs.
DELETE FROM job_attempt
WHERE NOT EXISTS (SELECT 1 FROM job WHERE id = job_attempt.job)
  AND NOT EXISTS (SELECT 1 FROM job_history WHERE id = job_attempt.job)
