-- The number of the last thing that happened to any schedule that is kept.
select coalesce(max(number), 0) from turnabout.schedule_event
