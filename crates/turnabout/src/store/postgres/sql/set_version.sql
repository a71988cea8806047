-- Tells everyone's next take that settings have changed.
update turnabout.settings set version = version + 1
