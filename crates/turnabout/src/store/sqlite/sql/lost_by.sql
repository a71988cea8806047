-- What a silent executor holds. Walks `held`, its entries only, and `claim`: what executors hold, no more.
-- Each job is read and decided on in the same transaction.
SELECT id, task
FROM (SELECT id, task, seq FROM job INDEXED BY held WHERE executor = ?1
      UNION ALL
      SELECT j.id, j.task, j.seq FROM claim c CROSS JOIN job j ON j.id = c.id WHERE c.executor = ?1)
ORDER BY seq, id
