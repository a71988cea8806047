-- Writes how far a held job is. By the primary keys; the fence is in it: only while the claim stands.
INSERT INTO progress (job, executor, claim, percent, step)
SELECT id, executor, claim, ?4, ?5
FROM live
WHERE id = ?1 AND executor = ?2 AND claim = ?3
ON CONFLICT (job) DO UPDATE
SET executor = excluded.executor, claim = excluded.claim, percent = excluded.percent, step = excluded.step
