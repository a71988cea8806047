-- Marks a held job as running.
-- By the primary key, from fence.sql in the same transaction.
UPDATE job SET state = ?2, attempts = ?3, started = ?4 WHERE id = ?1
