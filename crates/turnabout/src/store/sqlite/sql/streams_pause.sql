-- Pauses or resumes the streams of a group, in whatever queue they are. Finds the queues by the ends of `streams`, one look each,
-- and the streams by `streams`; in the transaction that changes the group's settings.
WITH RECURSIVE queues (name) AS (
    SELECT min(queue) FROM stream
    UNION ALL
    SELECT (SELECT min(queue) FROM stream WHERE queue > name) FROM queues WHERE name IS NOT NULL
)
UPDATE stream INDEXED BY streams SET paused = ?2
WHERE queue IN (SELECT name FROM queues) AND "group" = ?1 AND paused <> ?2
