-- Strikes off a hook, by the primary key.
DELETE FROM owed WHERE number = ?1
