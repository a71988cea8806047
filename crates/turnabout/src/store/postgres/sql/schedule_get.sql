-- A schedule by its key. By schedule_by_key.
select id, "group", owner, name, said, standing from turnabout.schedule where "group" = $1 and owner = $2 and name = $3
