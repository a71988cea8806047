-- Live jobs by id, locked in the order of their ids, so that two changes of the same jobs never wait for each other.
select id, seq, submitted, due, expires, started, null::timestamptz as finished, executor, claim, parent, attempts,
    interruptions, losses, items, state, lane, priority, reason, cancelling, queue, "group", task, owner, unique_key,
    args, meta, error, null as result,
    subject, prepared
from turnabout.job where id = any ($1) order by id for update
