-- Forgets schedules and their runs. By the primary keys.
with gone as (delete from turnabout.schedule where id = any ($1) returning id)
delete from turnabout.schedule_run r using gone where r.schedule = gone.id
