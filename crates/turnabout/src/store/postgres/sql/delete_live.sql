-- Throws away jobs that nobody holds, with what is kept beside them. By primary key (see finish.sql); the caller has locked
-- them. Says of which streams they may have been the last.
with gone as (
    delete from turnabout.job j using unnest($1::uuid[]) as d (id) where j.id = any (array[d.id]) and j.executor is null
    returning j.id, j.queue, j."group", j.lane, j.task, j.due
),
logs as (delete from turnabout.job_log l using unnest($1::uuid[]) as d (id) where l.job = any (array[d.id])),
attempts as (delete from turnabout.job_attempt a using unnest($1::uuid[]) as d (id) where a.job = any (array[d.id]))
insert into turnabout.arrival (queue, "group", lane, task)
select distinct queue, "group", lane, task from gone where due is null
