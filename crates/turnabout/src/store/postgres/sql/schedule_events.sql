-- What happened to schedules after this number. Walks the primary key.
select number, "group", owner, name, kind, at from turnabout.schedule_event where number > $1 order by number limit $2
