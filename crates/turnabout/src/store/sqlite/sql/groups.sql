-- How many groups have ready jobs in a queue, counted up to a limit. Walks `streams`. Reads only.
SELECT count(*)
FROM (SELECT DISTINCT "group" FROM stream INDEXED BY streams WHERE queue = ?1 LIMIT ?2)
