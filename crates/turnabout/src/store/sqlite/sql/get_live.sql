-- A job that has not ended, by the primary key, and how far it is by the claim that holds it. Reads only.
SELECT id, task, "group", owner, queue, priority, state, reason, cancelling, lane, seq, due, live.executor, live.claim,
       attempts, interruptions, losses, items, submitted, expires, started, NULL, parent, unique_key, meta, args, error,
       result, error_message, error_code, percent, step, subject, prepared,
       (SELECT name FROM executor_name AS n WHERE n.incarnation = live.executor)
FROM live LEFT JOIN progress AS p ON p.job = id AND p.executor = live.executor AND p.claim = live.claim
WHERE id = ?1
