-- How many jobs have ended since, by state, up to a limit. Walks `history_by_end` from there. Reads only.
-- ?1 group, ?2 owner (null: any), ?3 since, ?4 limit.
SELECT state, count(*)
FROM (SELECT state FROM job_history INDEXED BY history_by_end
      WHERE finished >= ?3 AND (?1 IS NULL OR "group" = ?1) AND (?2 IS NULL OR owner = ?2) LIMIT ?4)
GROUP BY state
