-- Who has these ids, and who has these unique keys: live jobs by the primary key and job_unique, ended ones by id.
-- $1 ids; then groups, tasks and unique keys, one entry each.
select j.id, j."group", j.task, null as unique_key, false as ended
from unnest($1::uuid[]) as d (id) cross join lateral (
    select id, "group", task from turnabout.job where id = d.id offset 0
) j
union all
select h.id, h."group", h.task, null, true
from unnest($1::uuid[]) as d (id) cross join lateral (
    select id, "group", task from turnabout.job_history where id = d.id offset 0
) h
union all
select j.id, j."group", j.task, j.unique_key, false
from unnest($2::text[], $3::text[], $4::text[]) as d ("group", task, unique_key) cross join lateral (
    select id, "group", task, unique_key from turnabout.job
    where "group" = d."group" and task = d.task and unique_key = d.unique_key offset 0
) j
