-- Forgets old entries of the audit log, but not the newest one about each group and task: that tells who set what holds.
-- Walks `audit_by_time`. ?1 those before then, ?2 how many at the most.
DELETE FROM audit
WHERE number IN (
    SELECT number FROM audit a INDEXED BY audit_by_time
    WHERE at < ?1
      AND (action NOT IN ('set-group', 'set-task', 'set-global')
           OR EXISTS (SELECT 1 FROM audit n INDEXED BY audit_by_target WHERE n.target = a.target AND n.number > a.number))
    ORDER BY at
    LIMIT ?2)
