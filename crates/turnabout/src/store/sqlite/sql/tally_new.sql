-- How many jobs have ids made since, up to a limit. Walks the ends of both primary keys. Reads only.
-- ?1 group, ?2 owner (null: any), ?3 since, ?4 the lowest id of that moment, ?5 limit.
SELECT (SELECT count(*) FROM (SELECT 1 FROM job
            WHERE id >= ?4 AND submitted >= ?3 AND (?1 IS NULL OR "group" = ?1) AND (?2 IS NULL OR owner = ?2) LIMIT ?5))
     + (SELECT count(*) FROM (SELECT 1 FROM job_history
            WHERE id >= ?4 AND submitted >= ?3 AND (?1 IS NULL OR "group" = ?1) AND (?2 IS NULL OR owner = ?2) LIMIT ?5))
