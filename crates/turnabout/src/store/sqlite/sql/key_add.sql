-- Adds a signing key, made at ?2, unless one was made after ?3.
INSERT INTO signing_key (secret, made)
SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM signing_key WHERE made > ?3)
