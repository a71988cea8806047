-- The schedules that a deployment has declared. Walks schedule_declared.
select "group", owner, name from turnabout.schedule where declared_by = $1
