-- Forgets how far a job was that is no longer held. By the primary key, in the transaction that writes what became of it.
DELETE FROM progress WHERE job = ?1
