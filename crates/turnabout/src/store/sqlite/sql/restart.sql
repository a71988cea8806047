-- Copies an ended job back among the unfinished ones, as if it had just been submitted, unless its unique key is taken
-- by now: `unique_keys` decides. It can no longer expire: whoever restarts a job wants it to run.
-- By the primary key, read in the same transaction; forget_history.sql then removes it there.
INSERT INTO job (id, task, "group", owner, queue, priority, state, reason, lane, seq, attempts, interruptions, losses,
                 items, submitted, parent, unique_key, meta, args, subject, prepared, limited)
SELECT id, task, "group", owner, queue, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, items, submitted, parent, unique_key, meta, args,
       subject, prepared,
       EXISTS (SELECT 1 FROM task t WHERE t.name = task AND t.max_unfinished IS NOT NULL)
       OR EXISTS (SELECT 1 FROM group_setting g WHERE g."group" IN (job_history."group", '') AND g.max_unfinished IS NOT NULL)
       OR NOT EXISTS (SELECT 1 FROM task t WHERE t.name = job_history.task)
FROM job_history
WHERE id = ?1
ON CONFLICT DO NOTHING
