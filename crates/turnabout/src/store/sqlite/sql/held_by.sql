-- What an executor holds. Walks `held`, its entries only.
SELECT id, claim, cancelling FROM job INDEXED BY held WHERE executor = ?1 ORDER BY id
