-- Takes places under caps for all that this transaction has claimed. Whoever makes a cap waits for claims, so one that is
-- not there yet will find these jobs held. Goes by the holds and the primary key, where there is a cap at all.
-- $1 executor, $2 claim number.
update turnabout.cap c set running = c.running + n.jobs
from (
    select k.kind, k.name, count(distinct j.id) as jobs
    from turnabout.hold h cross join unnest(h.jobs) as u (id) cross join lateral (
            select id, executor, claim, "group", task, xmin as written from turnabout.job where id = u.id offset 0
        ) j
        cross join lateral (values (0, j."group"), (1, j.task)) as k (kind, name)
    where exists (select from turnabout.cap)
        and h.executor = $1 and h.claim = $2 and h.xmin = pg_current_xact_id()::xid
        and j.executor = $1 and j.claim = $2 and j.written = pg_current_xact_id()::xid
    group by k.kind, k.name
) n
where c.kind = n.kind and c.name = n.name
