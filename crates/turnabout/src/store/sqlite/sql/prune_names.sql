-- Forgets what executors were called that registered before ?1 and are gone. Walks the table, which is small.
DELETE FROM executor_name WHERE since < ?1 AND incarnation NOT IN (SELECT incarnation FROM executor)
