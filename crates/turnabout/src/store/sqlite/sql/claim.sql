-- Hands a ready job to an executor: out of its lane, into `held`.
-- By the primary key, from heads.sql in the same transaction; one writer at a time, so a job cannot be claimed twice.
UPDATE job
SET state = ?2, reason = ?3, lane = NULL, executor = ?4, claim = ?5
WHERE id = ?1
