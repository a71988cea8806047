-- Where a list is after so many looks (?3) at failed jobs, from the cursor (?1) down to the oldest id (?2).
-- Walks `history_failed_by_id`. Reads only.
SELECT id FROM job_history INDEXED BY history_failed_by_id WHERE ?4 IS ?4 AND state = 5 AND id < ?1 AND id >= ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3
