-- Until when someone watches. One row.
SELECT until FROM feed
