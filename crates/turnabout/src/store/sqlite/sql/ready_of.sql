-- How many jobs of a group are ready in a queue, of one task or (null) of all. Adds up its streams, found by `streams`. Reads only.
SELECT coalesce(sum(jobs), 0)
FROM stream INDEXED BY streams
WHERE queue = ?1 AND "group" = ?2 AND (?3 IS NULL OR task = ?3)
