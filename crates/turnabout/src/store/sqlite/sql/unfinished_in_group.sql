-- How many jobs of a group are unfinished, counted up to its limit. Walks `limited`; one writer, so nobody comes in
-- between.
SELECT count(*) FROM (SELECT 1 FROM job WHERE limited AND "group" = ?1 LIMIT ?2)
