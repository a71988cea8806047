-- What is set for everything: one row.
SELECT retention FROM global_setting
