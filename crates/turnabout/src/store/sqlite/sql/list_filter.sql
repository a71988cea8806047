-- What a list asks for, newest first: the rest of the statements list_*.sql. A parameter that is NULL asks for nothing.
-- Walks from the cursor (?1) down to the oldest id (?11), a page at a time.
id < ?1
  AND (?2 IS NULL OR state IN (SELECT value FROM json_each(?2)))
  AND (?3 IS NULL OR task = ?3)
  AND (?4 IS NULL OR "group" = ?4)
  AND (?5 IS NULL OR owner = ?5)
  AND (?6 IS NULL OR queue = ?6)
  AND (?8 IS NULL OR instr(lower(subject), lower(?8)) > 0)
  AND (?9 IS NULL OR submitted >= ?9)
  AND (?10 IS NULL OR submitted < ?10)
  AND id >= ?11
  AND (?12 IS NULL OR reason = ?12)
  AND (?13 IS NULL OR error_code = ?13)
  AND (?14 IS NULL OR parent = ?14)
  AND (?16 IS NULL OR attempts >= ?16)
  AND (?17 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(?17) AS m WHERE NOT EXISTS (
      SELECT 1 FROM json_each(coalesce(meta, '{}')) AS h WHERE h.key = m.key AND h.value = m.value)))
  AND (?18 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(?18) AS n WHERE n.value = CASE n.key
      WHEN 'task' THEN task WHEN 'group' THEN "group" WHEN 'owner' THEN owner WHEN 'queue' THEN queue
      WHEN 'code' THEN error_code WHEN 'reason' THEN reason END))
ORDER BY id DESC
LIMIT ?7
