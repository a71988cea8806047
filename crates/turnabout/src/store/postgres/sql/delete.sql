-- Forgets ended jobs, with their logs. One partition for each id, see ended.sql.
with logs as (delete from turnabout.job_log l using unnest($1::uuid[]) as d (id) where l.job = d.id)
delete from turnabout.job_history h using unnest($1::uuid[]) as d (id) where h.id = d.id
