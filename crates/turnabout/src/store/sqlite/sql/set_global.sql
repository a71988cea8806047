-- Sets what holds for everything. One row; who comes last is right.
UPDATE global_setting SET retention = ?1, paused = ?2
