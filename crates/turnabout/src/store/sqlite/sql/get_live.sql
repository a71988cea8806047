-- A job that has not ended, by the primary key. Reads only.
SELECT id, task, "group", owner, queue, priority, state, reason, cancelling, lane, seq, due, executor, claim, attempts,
       interruptions, losses, items, submitted, expires, started, NULL, parent, unique_key, meta, args, error, result,
       subject, prepared
FROM job
WHERE id = ?1
