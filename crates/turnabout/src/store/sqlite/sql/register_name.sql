-- Notes what an executor is called. By the primary key; stays when the executor leaves.
INSERT INTO executor_name (incarnation, name, since) VALUES (?1, ?2, ?3)
ON CONFLICT (incarnation) DO UPDATE SET name = excluded.name
