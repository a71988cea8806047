-- How many jobs of groups are ready in queues, of one task or (null) of all, each counted up to a limit. Walks job_ready.
-- Reads only.
-- $1 queues, $2 groups, $3 tasks, $4 limit.
select (select count(*) from (select from turnabout.job j
    where j.executor is null and j.due is null and j.started is null and j.queue = p.queue and j."group" = p."group"
        and (p.task is null or j.task = p.task)
    limit $4) n)
from unnest($1::text[], $2::text[], $3::text[]) with ordinality as p (queue, "group", task, n)
order by p.n
