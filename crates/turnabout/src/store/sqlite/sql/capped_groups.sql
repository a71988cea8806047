-- Groups that executors hold jobs of, or held when they were counted: those that a cap on all groups concerns.
-- Walks `held`, `claim` and `cap`: what executors hold, no more.
SELECT "group" FROM job INDEXED BY held WHERE executor IS NOT NULL
UNION SELECT j."group" FROM claim c CROSS JOIN job j ON j.id = c.id
UNION SELECT name FROM cap WHERE kind = 0
