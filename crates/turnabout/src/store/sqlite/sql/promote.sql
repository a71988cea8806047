-- Moves a parked job into its lane, with a new place.
-- By the primary key, from due.sql in the same transaction.
UPDATE job SET state = ?2, reason = ?3, lane = ?4, seq = ?5, due = NULL WHERE id = ?1
