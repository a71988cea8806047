-- Nothing in a stream is dead any longer: a job comes in before its cursor. By the primary key, after sweep.sql.
UPDATE stream SET cursor = 0, dead = 0 WHERE id = ?1
