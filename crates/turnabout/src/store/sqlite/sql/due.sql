-- Parked jobs whose time has come, in the order in which they are due.
-- Walks `parked`, as many entries as asked for; in the transaction that then moves them into their lanes.
SELECT id, priority, state, reason, cancelling, attempts, interruptions, losses, queue, "group", task
FROM job INDEXED BY parked
WHERE due <= ?1
ORDER BY due, id
LIMIT ?2
