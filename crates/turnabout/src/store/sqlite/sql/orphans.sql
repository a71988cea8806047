-- Jobs held by this executor or by one that is not registered. Walks `held`: what executors hold, no more.
-- Each is read and decided on in the same transaction.
SELECT id, task
FROM job INDEXED BY held
WHERE executor IS NOT NULL AND (executor = ?1 OR executor NOT IN (SELECT incarnation FROM executor))
ORDER BY seq, id
