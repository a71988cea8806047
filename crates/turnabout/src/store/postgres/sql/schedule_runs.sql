-- What became of the times of a schedule, newest first. Walks the primary key.
select number, time, count, kind, at, late, job, why from turnabout.schedule_run
where schedule = $1 and number < $2 order by number desc limit $3
