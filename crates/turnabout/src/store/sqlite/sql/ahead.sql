-- How many jobs of its stream come before a job, counted up to a limit. Finds the stream by `streams`, walks `ready`.
-- Reads only.
SELECT count(*)
FROM (SELECT 1
      FROM stream s
      CROSS JOIN ready r ON r.stream = s.id AND r.seq > s.cursor AND r.seq < ?5
      WHERE s.queue = ?1 AND s."group" = ?2 AND s.lane = ?3 AND s.task = ?4
      LIMIT ?6)
