-- Notes that an executor is to take no more jobs and to end. By the primary key.
UPDATE executor SET draining = 1, dismissed = 1 WHERE incarnation = ?1
