-- Forgets the logs of jobs that are gone, where ended jobs are not kept: for nobody notes which of them had one. Reads the
-- logs of those that are left.
DELETE FROM job_log
WHERE NOT EXISTS (SELECT 1 FROM job WHERE id = job_log.job) AND NOT EXISTS (SELECT 1 FROM job_history WHERE id = job_log.job)
