-- Forgets old hints. A range of the primary key.
DELETE FROM hint WHERE number <= ?1
