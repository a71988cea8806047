-- The unfinished job that has a unique key.
-- Walks `unique_keys`, one entry; in the transaction of the insert that was refused.
SELECT id FROM job WHERE "group" = ?1 AND task = ?2 AND unique_key = ?3
