-- Forgets keys of rates that say nothing any longer: their buckets are full and nobody is put off. ?1 now, in nanoseconds.
DELETE FROM rate_key WHERE full <= ?1 AND next <= ?1 AND late <= ?1
