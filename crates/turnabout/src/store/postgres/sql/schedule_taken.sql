-- Which of these times of a schedule have had their job. By schedule_run_once.
select time from turnabout.schedule_run where schedule = $1 and time = any ($2) and job is not null
