-- Hints after a number, in order. A range of the primary key. Reads only.
SELECT number, job, "group", owner, last FROM hint WHERE number > ?1 ORDER BY number LIMIT ?2
