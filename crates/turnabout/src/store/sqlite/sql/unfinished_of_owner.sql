-- How many jobs of a task one owner has, counted up to the limit. Walks `limited`, as unfinished_in_group.sql.
SELECT count(*) FROM (SELECT 1 FROM job WHERE limited AND "group" = ?1 AND task = ?2 AND owner IS ?3 LIMIT ?4)
