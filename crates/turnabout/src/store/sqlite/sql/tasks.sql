-- The published tasks: one by its name, or all of them. By the primary key; reads only.
SELECT name, queue, priority, retries, retry_delay, retry_cap, jitter, restartable, time_limit, max_unfinished, hooks
FROM task
WHERE ?1 IS NULL OR name = ?1
ORDER BY name
