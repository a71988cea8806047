-- Ended jobs by id, locked in that order: whoever restarts or deletes them is alone. One partition for each id, see ended.sql.
select h.id, 0::bigint as seq, h.submitted, null::timestamptz as due, h.expires, h.started, h.finished,
    h.executor, h.claim, h.parent, h.attempts, h.interruptions, h.losses, h.items, h.state, null::smallint as lane,
    h.priority, h.reason, false as cancelling, h.queue, h."group", h.task, h.owner, h.unique_key, h.args, h.meta, h.error,
    h.error_message, h.error_code, h.result, h.percent, h.step, h.subject,
    h.prepared
from (select unnest($1::uuid[]) as id order by 1) d cross join lateral (
    select * from turnabout.job_history where id = d.id limit 1 for update
) h
