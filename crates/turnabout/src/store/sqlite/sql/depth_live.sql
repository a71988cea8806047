-- Where a list is after so many looks (?3) at unfinished jobs, from the cursor (?1) down to the oldest id (?2).
-- Walks the primary key. Reads only.
SELECT id FROM job WHERE ?4 IS ?4 AND id < ?1 AND id >= ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3
