-- Ended jobs by id, locked: whoever restarts or deletes them is alone. One partition for each id, see ended.sql.
select h.id, 0::bigint as seq, h.submitted, null::timestamptz as due, h.expires, h.started, h.finished,
    h.executor, h.claim, h.parent, h.attempts, h.interruptions, h.losses, h.items, h.state, null::smallint as lane,
    h.priority, h.reason, false as cancelling, h.queue, h."group", h.task, h.owner, h.unique_key, h.args, h.meta, h.error,
    h.error_message, h.error_code, h.result, null::smallint as percent, null::text as step, h.subject,
    h.prepared
from unnest($1::uuid[]) as d (id) join turnabout.job_history h on h.id = any (array[d.id])
order by h.id for update of h
