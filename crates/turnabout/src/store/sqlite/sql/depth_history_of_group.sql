-- Where a list is after so many looks (?3) at a group's ended jobs, from the cursor (?1) down to the oldest id (?2).
-- Walks `history_by_group`. Reads only.
SELECT id FROM job_history INDEXED BY history_by_group WHERE "group" = ?4 AND id < ?1 AND id >= ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3
