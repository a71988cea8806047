-- Removes an ended job, by the primary key, read in the same transaction.
DELETE FROM job_history WHERE id = ?1
