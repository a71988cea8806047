-- The next stream of ready jobs in a queue after (group, lane, task).
-- Walks `ready`, one seek and one entry: a loose index scan steps from stream to stream with it, however many jobs
-- each holds. The highest seq of all stands for the end of a stream: without it SQLite would seek to the stream's
-- first job and walk over the rest. Reads only; runs in the transaction of the take that claims, so nobody can come
-- between.
SELECT "group", lane, task
FROM job INDEXED BY ready
WHERE queue = ?1 AND lane IS NOT NULL AND ("group", lane, task, seq) > (?2, ?3, ?4, 9223372036854775807)
ORDER BY "group", lane, task, seq
LIMIT 1
