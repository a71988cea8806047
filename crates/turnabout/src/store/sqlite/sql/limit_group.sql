-- A limit was set for a group, or (without a name) for all groups: the jobs that there are count from now on.
-- Walks the table; seldom, and in the writer's transaction like everything else.
UPDATE job SET limited = 1 WHERE ?1 IN ("group", '') AND NOT limited
