-- Forgets hooks that nobody has run for so long that nobody will. Walks the table, which is short.
DELETE FROM owed WHERE since <= ?1
