-- Live jobs by id, and how far those are that report it (by the claim that holds them: what an earlier one reported does
-- not count). $2: without arguments: long ones lie elsewhere, and are not even read.
select j.id, seq, submitted, due, expires, started, null::timestamptz as finished, j.executor, j.claim, parent, attempts,
    interruptions, losses, items, state, lane, priority, reason, cancelling, queue, "group", task, owner, unique_key,
    case when not $2::boolean then args end as args, meta, error, error_message, error_code, null as result, p.percent, p.step, subject, prepared,
    (select n.name from turnabout.executor_name n where n.incarnation = j.executor) as executor_name
from turnabout.job j
    -- One by one (`offset 0`): a plan made while there is none would read all of them, and be kept.
    left join lateral (
        select * from turnabout.progress p where p.job = j.id and p.executor = j.executor and p.claim = j.claim offset 0
    ) p on true
where j.id = any ($1)
