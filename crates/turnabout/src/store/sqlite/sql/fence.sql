-- The job that an executor holds by a claim.
-- By the primary key. What matches cannot change before the write that follows: one writer at a time.
SELECT cancelling, "group", task, seq, queue
FROM live
WHERE id = ?1 AND executor = ?2 AND claim = ?3
