-- All executors and their heartbeat numbers. Walks the table, which is short.
SELECT incarnation, beat FROM executor ORDER BY incarnation
