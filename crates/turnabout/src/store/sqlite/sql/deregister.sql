-- Forgets an executor. By the primary key.
DELETE FROM executor WHERE incarnation = ?1
