-- Whether any registered executor serves a queue and knows a task. Walks the executors, of which there are few.
SELECT 1
FROM executor
WHERE ?1 IN (SELECT value FROM json_each(queues)) AND ?2 IN (SELECT value FROM json_each(tasks))
LIMIT 1
