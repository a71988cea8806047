-- A group or task has no rate any longer. By the primary key.
DELETE FROM rate WHERE kind = ?1 AND name = ?2
