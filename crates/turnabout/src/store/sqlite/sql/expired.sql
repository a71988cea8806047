-- Jobs that wait past their expiry, the longest first.
-- Walks `expiring`, as many entries as asked for; each is read and decided on in the same transaction.
SELECT id FROM job INDEXED BY expiring WHERE state = 0 AND expires <= ?1 ORDER BY expires, id LIMIT ?2
