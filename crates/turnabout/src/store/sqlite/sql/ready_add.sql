-- Puts a job into a stream, at its place. By the primary key.
INSERT INTO ready (stream, seq, id) VALUES (?1, ?2, ?3)
