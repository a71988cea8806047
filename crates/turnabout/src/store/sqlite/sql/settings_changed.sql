-- Gives the settings a new version, so that everyone reads them anew. By the primary key, in the transaction of the
-- change.
UPDATE counter SET value = value + 1 WHERE name = 'settings'
