-- Forgets the runs of schedules up to these numbers. Walks the primary key, usually one entry a schedule.
delete from turnabout.schedule_run r using unnest($1::uuid[], $2::bigint[]) as d (schedule, number)
where r.schedule = d.schedule and r.number <= d.number
