-- Hands a ready job to an executor, beside its row. By the primary key, from heads.sql in the same transaction; one writer
-- at a time, so a job cannot be claimed twice.
REPLACE INTO claim (id, executor, number, state, reason) VALUES (?1, ?2, ?3, ?4, ?5)
