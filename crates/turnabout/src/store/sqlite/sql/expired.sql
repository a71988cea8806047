-- Jobs that wait past their expiry, the longest first.
-- Walks `expiring`, as many entries as asked for and those that were taken meanwhile; each is read and decided on in the
-- same transaction.
SELECT id
FROM job INDEXED BY expiring
WHERE state = 0 AND expires <= ?1 AND NOT EXISTS (SELECT 1 FROM claim WHERE claim.id = job.id)
ORDER BY expires, id
LIMIT ?2
