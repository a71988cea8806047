-- What executors hold, by group, task and queue. Walks `held` and `claim`: what is held, no more. Reads only.
SELECT "group", task, queue, count(*), count(started), min(started)
FROM (SELECT "group", task, queue, iif(state = 2, started, NULL) AS started
      FROM job INDEXED BY held WHERE executor IS NOT NULL
      UNION ALL
      SELECT j."group", j.task, j.queue, iif(c.state = 2, j.started, NULL)
      FROM claim c CROSS JOIN job j ON j.id = c.id)
GROUP BY "group", task, queue
ORDER BY 4 DESC, 1, 2, 3
