-- Tells everyone's next take that settings have changed, unless someone else did since version $1. One row: of two that
-- change settings at once, the second waits, and finds that the version has moved on.
update turnabout.settings set version = version + 1 where version = $1
