-- What executors hold, by task and executor. Walks `held` and `claim`: what is held, no more. Reads only.
SELECT task, executor, count(*)
FROM (SELECT task, executor FROM job INDEXED BY held WHERE executor IS NOT NULL
      UNION ALL
      SELECT j.task, c.executor FROM claim c CROSS JOIN job j ON j.id = c.id)
GROUP BY task, executor
ORDER BY task, executor
