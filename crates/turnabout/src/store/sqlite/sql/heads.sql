-- The first jobs of a stream, with all that an executor needs of them, and where the stream stands.
-- The stream by its primary key, as peek.sql told it in the same transaction; walks `ready` from its cursor on, as many
-- entries as asked for, and reads each job by its primary key. Safe because the same transaction then claims them.
SELECT r.seq, r.id, j.owner, j.priority, j.state, j.reason, j.args, j.items, j.meta, j.parent, j.submitted, j.attempts,
       j.interruptions, j.losses, s.jobs, s.dead, j.prepared
FROM stream s
CROSS JOIN ready r ON r.stream = s.id AND r.seq > s.cursor
CROSS JOIN job j ON j.id = r.id
WHERE s.id = ?1
ORDER BY r.seq
LIMIT ?2
