-- Unfinished jobs that match, counted up to a limit. Walks as list_live.sql does, with the same parameters. Reads only.
SELECT count(*) FROM (SELECT 1 FROM live
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
LIMIT ?7)
