-- Live jobs by id, locked in the order of their ids, so that two changes of the same jobs never wait for each other. With
-- the columns of read.sql.
select j.id, seq, submitted, due, expires, started, null::timestamptz as finished, j.executor, j.claim, parent, attempts,
    interruptions, losses, items, state, lane, priority, reason, cancelling, queue, "group", task, owner, unique_key,
    args, meta, error, error_message, error_code, null as result, p.percent, p.step, subject, prepared
from turnabout.job j
    -- One by one (`offset 0`): a plan made while there is none would read all of them, and be kept.
    left join lateral (
        select * from turnabout.progress p where p.job = j.id and p.executor = j.executor and p.claim = j.claim offset 0
    ) p on true
where j.id = any ($1) order by j.id for update of j
