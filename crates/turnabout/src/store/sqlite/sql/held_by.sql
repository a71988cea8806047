-- What an executor holds. Walks `held`, its entries only, and `claim`: what executors hold, no more.
SELECT id, claim, cancelling FROM job INDEXED BY held WHERE executor = ?1
UNION ALL
SELECT id, number, 0 FROM claim WHERE executor = ?1
ORDER BY id
