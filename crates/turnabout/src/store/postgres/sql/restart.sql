-- Moves ended jobs back to the live ones, as new: counters reset, a new place at the end of the lane. The rows are
-- locked by lock_ended.sql. A unique key that is held meanwhile is an error, and nothing changes.
-- $1 ids, $2 state, $3 reason; then lanes by id.
with back as (
    delete from turnabout.job_history h using unnest($1::uuid[]) as d (id) where h.id = d.id returning h.*
)
insert into turnabout.job (id, submitted, parent, items, state, reason, lane, priority, queue, "group", task, owner,
    unique_key, args, meta, subject, prepared, limited)
select b.id, b.submitted, b.parent, b.items, $2, $3, l.lane, b.priority, b.queue, b."group", b.task, b.owner,
    b.unique_key, b.args, b.meta, b.subject, b.prepared,
    exists (select from turnabout.task t where t.name = b.task and t.max_unfinished is not null)
    or exists (select from turnabout.group_setting g where g.name = b."group" and g.max_unfinished is not null)
from (select turnabout.arrive() offset 0) a, back b join unnest($1::uuid[], $4::smallint[]) with ordinality as l (id, lane, place) on l.id = b.id
order by l.place
