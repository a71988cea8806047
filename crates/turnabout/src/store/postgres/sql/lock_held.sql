-- All jobs in an executor's hands, locked: by its holds and the primary key.
select id, seq, submitted, due, expires, started, null::timestamptz as finished, executor, claim, parent, attempts,
    interruptions, losses, items, state, lane, priority, reason, cancelling, queue, "group", task, owner, unique_key,
    args, meta, error, error_message, error_code, null as result,
    null::smallint as percent, null::text as step, subject, prepared
from turnabout.job
where id = any (array(select unnest(jobs) from turnabout.hold h where h.executor = $1)) and executor = $1
order by id for update
