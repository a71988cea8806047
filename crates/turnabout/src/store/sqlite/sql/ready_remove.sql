-- Takes a job out of a stream. By the primary key.
DELETE FROM ready WHERE stream = ?1 AND seq = ?2
