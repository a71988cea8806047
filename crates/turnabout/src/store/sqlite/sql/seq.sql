-- Takes the next ?1 places in the lanes; returns the last of them.
-- One row, changed inside the transaction: no other process can get the same ones.
UPDATE counter SET value = value + ?1 WHERE name = 'seq' RETURNING value
