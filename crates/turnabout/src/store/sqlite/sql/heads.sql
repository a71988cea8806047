-- The first jobs of a stream, by their places.
-- Walks `ready`, as many entries as asked for. Safe because it runs in the transaction that then claims them.
SELECT seq, id
FROM job INDEXED BY ready
WHERE queue = ?1 AND "group" = ?2 AND lane = ?3 AND task = ?4
ORDER BY seq
LIMIT ?5
