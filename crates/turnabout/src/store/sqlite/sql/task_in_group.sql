-- Whether a group has an unfinished job of a task that was unknown when it was submitted. One step in `limited`.
SELECT 1 FROM job WHERE limited AND "group" = ?1 AND task = ?2 LIMIT 1
