-- Removes an unfinished job, by the primary key, read in the same transaction.
DELETE FROM job WHERE id = ?1
