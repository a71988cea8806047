-- Stores a new job, unless its id or its unique key is taken.
-- The primary key and `unique_keys` decide, so two submits of the same key can never both get in.
INSERT INTO job (id, task, "group", owner, queue, priority, state, lane, seq, due, items, submitted, expires, parent,
                 unique_key, meta, args, subject, prepared, limited)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
ON CONFLICT DO NOTHING
