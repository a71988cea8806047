-- Failed jobs (5) by task, priority and state: all that are kept. Walks job_history_failed, or job_history_failed_group. Reads only.
-- $1 group, $2 owner (null: any).
select task, priority, state, count(*), sum(items)::bigint, sum(attempts)::bigint, min(submitted), min(started)
from turnabout.job_history
where state = 5 and ($1::text is null or "group" = $1) and ($2::text is null or owner = $2)
group by task, priority, state
order by task, priority, state
