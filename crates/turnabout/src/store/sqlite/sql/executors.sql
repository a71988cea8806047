-- All executors. Walks the table, which is short.
SELECT incarnation, name, slots, queues, tasks, version, beat FROM executor ORDER BY name, incarnation
