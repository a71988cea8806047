-- Jobs of tasks that want to know, that ended long ago; with the columns of get_live.sql. Walks `history_by_end`.
SELECT id, task, "group", owner, queue, priority, state, reason, 0, NULL, seq, NULL, executor, claim, attempts,
       interruptions, losses, items, submitted, expires, started, finished, parent, unique_key, meta, args, error,
       result, error_message, error_code, percent, step, subject, prepared,
       NULL
FROM job_history
WHERE id IN (SELECT id FROM job_history WHERE finished <= ?1 ORDER BY finished LIMIT ?2)
  AND task IN (SELECT name FROM task WHERE hooks & ?3)
