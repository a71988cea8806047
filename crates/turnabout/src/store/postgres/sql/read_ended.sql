-- Ended jobs by id. Each id is looked for in one partition: a join finds it in any plan, an array only in those made
-- for its values. $2: without arguments and results: long ones lie elsewhere, and are not even read.
select h.id, 0::bigint as seq, submitted, null::timestamptz as due, expires, started, finished,
    executor, claim, parent, attempts, interruptions, losses, items, state, null::smallint as lane, priority, reason,
    false as cancelling, queue, "group", task, owner, unique_key,
    case when not $2::boolean then args end as args, meta, error, error_message, error_code,
    case when not $2 then result end as result, percent, step, subject, prepared,
    (select n.name from turnabout.executor_name n where n.incarnation = h.executor) as executor_name
from unnest($1::uuid[]) as d (id) join turnabout.job_history h on h.id = any (array[d.id])
