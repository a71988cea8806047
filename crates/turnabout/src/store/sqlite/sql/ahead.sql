-- How many jobs of its stream come before a job, counted up to a limit. Walks `ready`. Reads only.
SELECT count(*)
FROM (SELECT 1
      FROM job INDEXED BY ready
      WHERE queue = ?1 AND "group" = ?2 AND lane = ?3 AND task = ?4 AND seq < ?5
      LIMIT ?6)
