-- Notes that a job has changed, live or ended; one that is gone is passed over. By the primary keys.
-- ?1 job, ?2 now.
INSERT INTO hint (job, "group", owner, told)
SELECT id, "group", owner, ?2 FROM job WHERE id = ?1
UNION ALL
SELECT id, "group", owner, ?2 FROM job_history WHERE id = ?1
