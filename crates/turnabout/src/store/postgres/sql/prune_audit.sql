-- Forgets old entries of the audit log, but not the newest one about each group and task: that tells who set what holds.
-- Walks audit_at. $1 those before then, $2 how many at the most.
delete from turnabout.audit
where number in (
    select number from turnabout.audit a
    where at < $1 and (action not in ('set-group', 'set-task', 'set-global')
        or exists (select from turnabout.audit n where n.target = a.target and n.number > a.number))
    order by at limit $2
)
