-- Parked jobs that are due, the longest due first. Walks job_parked; those that another promotes are skipped.
-- $1 now (null: the server's), $2 limit.
select id, seq, submitted, due, expires, started, null::timestamptz as finished, executor, claim, parent, attempts,
    interruptions, losses, items, state, lane, priority, reason, cancelling, queue, "group", task, owner, unique_key,
    ''::text as args, meta, error, error_message, error_code, null as result,
    null::smallint as percent, null::text as step, subject, prepared
from turnabout.job where due <= (select coalesce($1, clock_timestamp())) order by due, seq limit $2 for update skip locked
