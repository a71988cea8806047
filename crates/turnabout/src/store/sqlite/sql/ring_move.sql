-- Moves the place in the ring. By the primary key; in the transaction that read it, so no two takes visit the same
-- group.
REPLACE INTO ring (kind, place, left) VALUES (?1, ?2, ?3)
