-- Forgets what happened long ago: all but the last so many.
delete from turnabout.schedule_event where number <= (select max(number) from turnabout.schedule_event) - $1
