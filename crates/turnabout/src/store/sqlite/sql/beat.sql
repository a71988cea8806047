-- Keeps an executor alive. By the primary key.
UPDATE executor SET beat = ?2, seen = ?3 WHERE incarnation = ?1 RETURNING draining, dismissed
