-- When one of the executors was last heard of that serve a queue, know a task and were not told to take no more; NULL
-- if there is none. Walks the executors, of which there are few. Reads only.
SELECT max(seen)
FROM executor
WHERE ?1 IN (SELECT value FROM json_each(queues)) AND ?2 IN (SELECT value FROM json_each(tasks)) AND NOT draining
