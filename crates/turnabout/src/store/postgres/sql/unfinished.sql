-- How many unfinished jobs there are behind each gate, counted up to its limit. Walks job_limited; the gates are ours
-- (gate.sql), so nobody adds one meanwhile.
-- One entry a gate: group, task (empty: the whole group), owner, limit.
select d.at, case when d.task = '' then (
        select count(*) from (
            select from turnabout.job j where j.limited and j."group" = d."group" limit d.allowed
        ) j
    ) else (
        select count(*) from (
            select from turnabout.job j
            where j.limited and j."group" = d."group" and j.task = d.task and coalesce(j.owner, '') = d.owner
            limit d.allowed
        ) j
    ) end as jobs
from unnest($1::text[], $2::text[], $3::text[], $4::int[]) with ordinality as d ("group", task, owner, allowed, at)
