-- Ends a stream that has become empty. By the primary key, after sweep.sql.
DELETE FROM stream WHERE id = ?1
