-- Counts anew what executors hold of a group (kind 0) or task (kind 1) that gets a cap.
-- Walks `held` and `claim`: what executors hold, no more. In one transaction with the setting, so no claim comes between.
INSERT INTO cap (kind, name, running)
SELECT ?1, ?2, (SELECT count(*)
                FROM job INDEXED BY held
                WHERE executor IS NOT NULL AND ?2 = CASE ?1 WHEN 0 THEN "group" ELSE task END)
             + (SELECT count(*)
                FROM claim c CROSS JOIN job j ON j.id = c.id
                WHERE ?2 = CASE ?1 WHEN 0 THEN "group" ELSE task END)
WHERE true
ON CONFLICT (kind, name) DO UPDATE SET running = excluded.running
