-- The streams of ready jobs in a queue after (group, lane, task), in order.
-- Walks `streams`, one entry for each stream, however many jobs it holds. Reads only; runs in the transaction of the
-- take that claims, so nobody can come between.
SELECT "group", lane, task, id
FROM stream INDEXED BY streams
WHERE queue = ?1 AND ("group", lane, task) > (?2, ?3, ?4)
ORDER BY "group", lane, task
