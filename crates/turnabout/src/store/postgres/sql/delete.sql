-- Forgets ended jobs. One partition for each id, see ended.sql.
delete from turnabout.job_history h using unnest($1::uuid[]) as d (id) where h.id = d.id
