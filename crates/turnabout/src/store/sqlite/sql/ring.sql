-- The place in the ring of a kind of executor. By the primary key; in the transaction of the take that moves it on.
SELECT place, left FROM ring WHERE kind = ?1
