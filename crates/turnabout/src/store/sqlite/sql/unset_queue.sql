-- A queue has the defaults again. By the primary key.
DELETE FROM queue_setting WHERE queue = ?1
