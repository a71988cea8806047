-- The last line's number of each job's log, and how many lines there are. Walks the primary key, once a job and attempt.
select d.id, coalesce(max(l.number), 0), count(l.number)
from unnest($1::uuid[]) as d (id) left join turnabout.job_log l on l.job = any (array[d.id])
group by d.id
