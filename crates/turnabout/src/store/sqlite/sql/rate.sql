-- When the bucket of a rate will be full. By the primary key; in the transaction of the claim, so the answer stays true.
SELECT full FROM rate WHERE kind = ?1 AND name = ?2
