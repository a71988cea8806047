-- The version of the settings. By the primary key; other processes' changes show at once.
SELECT value FROM counter WHERE name = 'settings'
