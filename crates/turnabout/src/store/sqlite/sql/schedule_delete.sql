-- Forgets a schedule. By the primary key.
DELETE FROM schedule WHERE id = ?1
