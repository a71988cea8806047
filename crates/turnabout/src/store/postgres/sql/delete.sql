-- Forgets ended jobs, with what is kept beside them. One partition for each id, see ended.sql.
with logs as (delete from turnabout.job_log l using unnest($1::uuid[]) as d (id) where l.job = any (array[d.id])),
attempts as (delete from turnabout.job_attempt a using unnest($1::uuid[]) as d (id) where a.job = any (array[d.id]))
delete from turnabout.job_history h using unnest($1::uuid[]) as d (id) where h.id = any (array[d.id])
