-- Sets what holds for everything. One row, which set_version.sql has locked.
update turnabout.settings set retention = $1, paused = $2
