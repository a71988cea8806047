-- How the jobs of a key stand, whose starts are limited. By the primary key, in the transaction that moves it.
SELECT full, next, late FROM rate_key WHERE key = ?1
