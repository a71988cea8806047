-- Removes the entries of a stream that were taken: all up to its cursor. Walks `ready`, these entries only.
DELETE FROM ready WHERE stream = ?1 AND seq <= ?2
