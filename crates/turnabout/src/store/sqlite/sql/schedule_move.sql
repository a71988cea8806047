-- What firing makes of a schedule. By the primary key.
UPDATE schedule SET next = ?2, due = ?3, standing = ?4 WHERE id = ?1
