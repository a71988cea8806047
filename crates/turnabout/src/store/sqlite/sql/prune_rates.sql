-- Forgets buckets that are full: no row says the same. Walks `rate`. ?1 now, in nanoseconds.
DELETE FROM rate WHERE full <= ?1
