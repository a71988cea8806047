-- Moves a claim into the job's row, out of its lane and into `held`, if it stands beside it. By the primary keys;
-- claim_forget.sql follows in the same transaction.
UPDATE job
SET (state, reason, executor, claim) = (SELECT state, reason, executor, number FROM claim WHERE id = ?1), lane = NULL
WHERE id = ?1 AND EXISTS (SELECT 1 FROM claim WHERE id = ?1)
