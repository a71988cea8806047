-- Whether an executor is registered, and its heartbeat number. By the primary key; in the transaction that acts on
-- it.
SELECT beat FROM executor WHERE incarnation = ?1
