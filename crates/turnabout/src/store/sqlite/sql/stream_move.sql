-- Where a stream stands after jobs were taken from it. By the primary key; in the transaction that read it.
UPDATE stream SET jobs = ?2, cursor = ?3, dead = ?4 WHERE id = ?1
