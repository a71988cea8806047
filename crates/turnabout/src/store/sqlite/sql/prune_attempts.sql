-- Forgets the attempts of the jobs that prune.sql is about to forget: the same ones, in the same transaction.
DELETE FROM job_attempt
WHERE job IN (SELECT id FROM job_history WHERE finished <= ?1 ORDER BY finished LIMIT ?2)
