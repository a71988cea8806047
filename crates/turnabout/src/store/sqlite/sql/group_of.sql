-- Whose job this is, unfinished or ended.
-- By the primary keys; in the transaction of the insert that follows, so the job cannot end in between.
SELECT "group" FROM job WHERE id = ?1
UNION ALL
SELECT "group" FROM job_history WHERE id = ?1
LIMIT 1
