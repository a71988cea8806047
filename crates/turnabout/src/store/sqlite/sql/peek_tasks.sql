-- Which of these tasks (a JSON list) have ready jobs in a queue, in groups that are not paused.
-- Looks for one entry of `takeable` for each task. Reads only; runs in the transaction of the take that claims.
SELECT value
FROM json_each(?2)
WHERE EXISTS (SELECT 1 FROM stream INDEXED BY takeable WHERE queue = ?1 AND task = value AND paused = 0)
