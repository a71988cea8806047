-- Which of these groups have no unfinished job of a task that was unknown when the job was submitted. One step in job_limited an entry.
-- One entry a pair: group, task.
select d."group", d.task from unnest($1::text[], $2::text[]) as d ("group", task)
where not exists (select from turnabout.job j where j.limited and j."group" = d."group" and j.task = d.task)
