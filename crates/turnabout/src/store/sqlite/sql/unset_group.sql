-- A group has the defaults again. By the primary key.
DELETE FROM group_setting WHERE "group" = ?1
