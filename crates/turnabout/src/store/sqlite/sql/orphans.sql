-- Jobs held by this executor or by one that is not registered. Walks `held` and `claim`: what executors hold, no more.
-- Each is read and decided on in the same transaction.
SELECT id, task
FROM (SELECT id, task, seq, executor FROM job INDEXED BY held WHERE executor IS NOT NULL
      UNION ALL
      SELECT j.id, j.task, j.seq, c.executor FROM claim c CROSS JOIN job j ON j.id = c.id)
WHERE executor = ?1 OR executor NOT IN (SELECT incarnation FROM executor)
ORDER BY seq, id
