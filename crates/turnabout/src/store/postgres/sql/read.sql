-- Live jobs by id.
select id, seq, submitted, due, expires, started, null::timestamptz as finished, executor, claim, parent, attempts,
    interruptions, losses, items, state, lane, priority, reason, cancelling, queue, "group", task, owner, unique_key,
    args, meta, error, null as result,
    subject, prepared
from turnabout.job where id = any ($1)
