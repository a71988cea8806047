-- The streams of ready jobs in their order, and the first job of each. Walks `streams`, one entry for each, finds the head
-- in `ready` from the cursor on, and the job by its primary key. Reads only.
SELECT s.queue, s."group", s.lane, s.task, r.seq, j.submitted
FROM stream s INDEXED BY streams
CROSS JOIN ready r ON r.stream = s.id AND r.seq = (SELECT min(seq) FROM ready WHERE stream = s.id AND seq > s.cursor)
CROSS JOIN job j ON j.id = r.id
ORDER BY s.queue, s."group", s.lane, s.task
LIMIT ?1
