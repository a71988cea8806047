-- A page of a job's log. Walks the primary key, in the one partition of the job's day.
select number, attempt, time, level, message from turnabout.job_log
where job = $1 and number > $2 order by number limit $3
