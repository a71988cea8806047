-- As seq.sql, and says whether any group has a limit on its unfinished jobs (by `limited_groups`, usually empty).
UPDATE counter SET value = value + ?1 WHERE name = 'seq'
RETURNING value, EXISTS (SELECT 1 FROM group_setting WHERE max_unfinished IS NOT NULL)
