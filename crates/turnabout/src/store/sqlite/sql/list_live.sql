-- Unfinished jobs that match, newest first, with the columns of get_live.sql.
-- Walks the primary key from the cursor down, a page at a time. Reads only.
SELECT id, task, "group", owner, queue, priority, state, reason, cancelling, lane, seq, due, live.executor, live.claim,
       attempts, interruptions, losses, items, submitted, expires, started, NULL, parent, unique_key, meta, args, error,
       result, error_message, error_code, percent, step, subject, prepared
FROM live LEFT JOIN progress AS p ON p.job = id AND p.executor = live.executor AND p.claim = live.claim
WHERE id < ?1
  AND (?2 IS NULL OR state IN (SELECT value FROM json_each(?2)))
  AND (?3 IS NULL OR task = ?3)
  AND (?4 IS NULL OR "group" = ?4)
  AND (?5 IS NULL OR owner = ?5)
  AND (?6 IS NULL OR queue = ?6)
  AND (?8 IS NULL OR instr(lower(subject), lower(?8)) > 0)
  AND (?9 IS NULL OR submitted >= ?9)
  AND (?10 IS NULL OR submitted < ?10)
  AND id >= ?11
ORDER BY id DESC
LIMIT ?7
