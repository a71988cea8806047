-- Removes a claim that stands beside its job's row, if it is the one that was named: the fence. By the primary key.
DELETE FROM claim WHERE id = ?1 AND executor = ?2 AND number = ?3
