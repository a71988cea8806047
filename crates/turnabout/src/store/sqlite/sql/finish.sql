-- Copies a job that has ended to the history, with the claim that ended it. forget_live.sql then removes it here.
-- By the primary key. The fence is in it: a job that is held by another claim by now, or is being cancelled since it
-- was decided on, is not copied.
INSERT INTO job_history (id, task, "group", owner, queue, priority, state, reason, seq, executor, claim, attempts,
                         interruptions, losses, items, submitted, expires, started, finished, parent, unique_key,
                         meta, args, error, result, error_message, error_code, subject, prepared, percent,
                         step)
SELECT id, task, "group", owner, queue, ?2, ?3, ?4, seq, executor, claim, ?5, ?6, ?7, items, submitted, expires,
       coalesce(?8, started), ?9, parent, unique_key, meta, args, coalesce(?10, error), coalesce(?11, result),
       iif(?10 IS NULL, error_message, ?15), iif(?10 IS NULL, error_code, ?16), subject, prepared,
       ?17, ?18
FROM live
WHERE id = ?1 AND executor IS ?12 AND claim IS ?13 AND cancelling = ?14
