-- Removes a claim that stands beside a job's row, which says all there is to say by now, or is gone. By the primary key.
DELETE FROM claim WHERE id = ?1
