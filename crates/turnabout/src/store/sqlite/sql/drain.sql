-- Notes whether an executor is to take no more jobs. By the primary key.
UPDATE executor SET draining = ?2, dismissed = dismissed AND ?2 WHERE incarnation = ?1
