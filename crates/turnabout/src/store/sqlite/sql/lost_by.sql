-- What a silent executor holds. Walks `held`, its entries only.
-- Each job is read and decided on in the same transaction.
SELECT id, task FROM job INDEXED BY held WHERE executor = ?1 ORDER BY seq, id
