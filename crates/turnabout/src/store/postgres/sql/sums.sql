-- Jobs by task, priority and state: all live ones (a walk through the table: for operators), and those that have ended
-- since, found by job_history_finished. A cancelled job (6) that had started was cancelled in its last attempt, which did not
-- fail. Reads only.
-- $1 group, $2 owner (null: any), $3 since.
select task, priority, state, sum(jobs)::bigint, sum(items)::bigint, sum(attempts)::bigint, min(oldest), min(started)
from (
    select task, priority, state, count(*) as jobs, sum(items) as items, sum(attempts) as attempts,
        min(submitted) as oldest, min(started) as started
    from turnabout.job
    where ($1::text is null or "group" = $1) and ($2::text is null or owner = $2)
    group by task, priority, state
    union all
    select task, priority, state, count(*), sum(items), sum(attempts - (state = 6 and started is not null)::int),
        min(submitted), min(started)
    from turnabout.job_history
    where finished >= $3 and ($1::text is null or "group" = $1) and ($2::text is null or owner = $2)
    group by task, priority, state
) s
group by task, priority, state
order by task, priority, state
