-- Forgets jobs that ended long ago, some at a time so that other work gets in between. Walks `history_by_end`.
DELETE FROM job_history
WHERE id IN (SELECT id FROM job_history WHERE finished <= ?1 ORDER BY finished LIMIT ?2)
