-- The ended children of one job that match list_filter.sql, which follows, with the columns of get_live.sql.
-- Walks `history_by_parent`. Reads only.
SELECT id, task, "group", owner, queue, priority, state, reason, 0, NULL, seq, NULL, executor, claim, attempts,
       interruptions, losses, items, submitted, expires, started, finished, parent, unique_key, meta, args, error,
       result, error_message, error_code, percent, step, subject, prepared,
       (SELECT name FROM executor_name AS n WHERE n.incarnation = job_history.executor)
FROM job_history INDEXED BY history_by_parent
WHERE parent = ?14 AND (?15 IS NULL OR executor = ?15) AND
