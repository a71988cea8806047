-- The first jobs of a stream, with all that an executor needs of them, and where the stream stands.
-- Finds the stream by `streams`, walks `ready` from its mark on, as many entries as asked for, and reads each job by
-- its primary key. Safe because it runs in the transaction that then claims them.
SELECT r.seq, r.id, j.owner, j.priority, j.state, j.reason, j.args, j.items, j.meta, j.parent, j.submitted, j.attempts,
       j.interruptions, j.losses, s.id, s.jobs, s.dead, j.prepared
FROM stream s
CROSS JOIN ready r ON r.stream = s.id AND r.seq > s.mark
CROSS JOIN job j ON j.id = r.id
WHERE s.queue = ?1 AND s."group" = ?2 AND s.lane = ?3 AND s.task = ?4
ORDER BY r.seq
LIMIT ?5
