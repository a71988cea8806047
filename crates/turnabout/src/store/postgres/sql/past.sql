-- Jobs of tasks that want to know, that ended long ago, locked. Walks the primary key, as prune_rows.sql.
-- $1 the lowest id that is kept in any case, $2 jobs that finished after this are kept, $3 how many, $4 the hook.
select id, 0::bigint as seq, submitted, null::timestamptz as due, expires, started, finished, executor, claim, parent,
    attempts, interruptions, losses, items, state, null::smallint as lane, priority, reason, false as cancelling, queue,
    "group", task, owner, unique_key, args, meta, error, error_message,
    error_code, result, percent, step, subject, prepared
from turnabout.job_history
where id < $1 and finished <= $2 and task = any (array(select name from turnabout.task where hooks & $4 <> 0))
order by id limit $3 for update
