-- Nothing is capped here any longer. By the primary key, in the transaction of the setting.
DELETE FROM cap WHERE kind = ?1 AND name = ?2
