-- Whether a job is unfinished. By the primary key.
SELECT 1 FROM job WHERE id = ?1
