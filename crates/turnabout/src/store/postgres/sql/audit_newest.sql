-- The newest entry about each of these. Finds them by audit_target. Reads only.
select a.number, a.at, a.by, a.role, a.address, a.action, a.target, a."group", a.filter, a.count, a.before, a.after, a.note
from unnest($1::text[]) as t (target) cross join lateral (
    select * from turnabout.audit a where a.target = t.target order by a.number desc limit 1
) a
