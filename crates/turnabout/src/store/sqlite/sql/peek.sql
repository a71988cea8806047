-- The streams of a task's ready jobs in a queue after (group, lane), in order, up to a limit.
-- Walks `takeable`, one entry for each stream, however many jobs it holds. Reads only; runs in the transaction of the
-- take that claims, so nobody can come between.
SELECT "group", lane, id
FROM stream INDEXED BY takeable
WHERE queue = ?1 AND task = ?2 AND paused = 0 AND ("group", lane) > (?3, ?4)
ORDER BY "group", lane
LIMIT ?5
