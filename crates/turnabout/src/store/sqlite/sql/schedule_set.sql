-- Stores a schedule, new or changed. By the primary key; the writer is alone, so its key is nobody else's.
INSERT INTO schedule (id, "group", owner, name, task, declared_by, next, due, said, standing)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (id) DO UPDATE SET task = excluded.task, declared_by = excluded.declared_by, next = excluded.next,
    due = excluded.due, said = excluded.said, standing = excluded.standing
