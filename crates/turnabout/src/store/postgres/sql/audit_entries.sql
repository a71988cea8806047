-- A page of the audit log, newest first. Walks the primary key backwards. Reads only.
-- $1 before this number, $2 by, $3 action, $4 target, $5 group, $6 since (null: any), $7 limit.
select number, at, by, role, address, action, target, "group", filter, count, before, after, note
from turnabout.audit
where number < $1 and ($2::text is null or by = $2) and ($3::text is null or action = $3)
    and ($4::text is null or target = $4) and ($5::text is null or "group" = $5)
    and ($6::timestamptz is null or at >= $6)
order by number desc limit $7
