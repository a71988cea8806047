-- Ended jobs that a rule covers and that are past their time, whole and locked: their tasks want to know. As prune_rows.sql.
-- $1 final states, $2 ended after (null: whenever) and $3 up to, $4 groups (null: all), $5 tasks, $6 not these groups, $7 not
-- these tasks, $8 how many.
select id, 0::bigint as seq, submitted, null::timestamptz as due, expires, started, finished, executor, claim, parent,
    attempts, interruptions, losses, items, state, null::smallint as lane, priority, reason, false as cancelling, queue,
    "group", task, owner, unique_key, args, meta, error, error_message,
    error_code, result, percent, step, subject, prepared
from turnabout.job_history
where state >= 0 and state = any ($1) and ($2::timestamptz is null or finished > $2) and finished <= $3
    and ($4::text[] is null or "group" = any ($4)) and task = any ($5) and not "group" = any ($6) and not task = any ($7)
limit $8 for update skip locked
