-- What an executor needs of a job that it is about to claim.
-- By the primary key, from heads.sql in the same transaction.
SELECT owner, priority, state, reason, args, prepared, items, meta, parent, submitted, attempts, interruptions, losses
FROM job
WHERE id = ?1
