-- All executors by name, and how many jobs each holds. Walks the table of executors, and `held` and `claim` for each.
-- Reads only.
SELECT incarnation, name, slots, queues, tasks, version, beat, seen,
       (SELECT count(*) FROM job INDEXED BY held WHERE job.executor = e.incarnation)
       + (SELECT count(*) FROM claim WHERE claim.executor = e.incarnation),
       draining
FROM executor AS e
ORDER BY name, incarnation
