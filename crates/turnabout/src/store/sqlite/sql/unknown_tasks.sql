-- How many tasks the unfinished jobs of a group have that nobody has published. Steps through `limited` from one task to the
-- next, so that it costs by the names and not by the jobs. One writer, so nobody comes in between.
WITH RECURSIVE name(task) AS (
    SELECT min(task) FROM job WHERE limited AND "group" = ?1
    UNION ALL
    SELECT (SELECT min(j.task) FROM job j WHERE j.limited AND j."group" = ?1 AND j.task > name.task)
    FROM name WHERE name.task IS NOT NULL
)
SELECT count(*) FROM name WHERE task IS NOT NULL AND NOT EXISTS (SELECT 1 FROM task t WHERE t.name = name.task)
