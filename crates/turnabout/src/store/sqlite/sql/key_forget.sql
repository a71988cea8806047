-- Forgets signing keys that were made at ?1 or before. There is a handful of them.
DELETE FROM signing_key WHERE made <= ?1
