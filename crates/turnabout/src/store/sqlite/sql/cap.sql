-- How many jobs executors hold under a cap. By the primary key; in the transaction of the claim, so the answer
-- stays true.
SELECT running FROM cap WHERE kind = ?1 AND name = ?2
