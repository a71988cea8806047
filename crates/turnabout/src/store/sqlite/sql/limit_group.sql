-- A limit was set for a group: the jobs that it has count from now on.
-- Walks the table; seldom, and in the writer's transaction like everything else.
UPDATE job SET limited = 1 WHERE "group" = ?1 AND NOT limited
