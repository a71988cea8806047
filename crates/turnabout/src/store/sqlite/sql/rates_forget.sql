-- Groups without a rate of their own have none any longer. Walks `rate`: what has started jobs lately, no more.
DELETE FROM rate WHERE kind = 0 AND name NOT IN (SELECT "group" FROM group_setting WHERE rate IS NOT NULL)
