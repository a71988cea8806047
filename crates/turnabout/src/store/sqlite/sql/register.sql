-- Makes an executor known. By the primary key; the same incarnation again is the same executor, and its
-- heartbeat number goes on.
INSERT INTO executor (incarnation, name, kind, slots, queues, tasks, version, beat, seen)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (incarnation) DO UPDATE
SET name = excluded.name, kind = excluded.kind, slots = excluded.slots, queues = excluded.queues,
    tasks = excluded.tasks, version = excluded.version, seen = excluded.seen
