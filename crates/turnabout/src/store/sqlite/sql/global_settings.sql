-- What is set for everything: one row.
SELECT retention, paused FROM global_setting
