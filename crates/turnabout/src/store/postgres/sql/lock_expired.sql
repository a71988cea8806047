-- Jobs that have waited past their expiry. Walks job_expiring; those that were taken, or are just being taken, are skipped.
-- $1 now (null: the server's), $2 limit, $3 the state in which a job can expire.
select id, seq, submitted, due, expires, started, null::timestamptz as finished, executor, claim, parent, attempts,
    interruptions, losses, items, state, lane, priority, reason, cancelling, queue, "group", task, owner, unique_key,
    args, meta, error, error_message, error_code, null as result,
    null::smallint as percent, null::text as step, subject, prepared
from turnabout.job
where expires <= (select coalesce($1, clock_timestamp())) and started is null and executor is null and state = $3
order by expires limit $2 for update skip locked
