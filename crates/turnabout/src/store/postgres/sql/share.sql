-- Raises shared accounts to their floor and adds to them; locked in the order of their names, so that two who share
-- never wait for each other.
-- $1 kind, $2 now (null: the server's); then groups, floors, additions.
with mine as materialized (
    select a."group" from turnabout.account a where a.kind = $1 and a."group" = any ($3::text[])
    order by a."group" for update
)
update turnabout.account a
set spent = greatest(a.spent, c.floor) + c.add, touched = coalesce($2, clock_timestamp())
from mine m
join unnest($3::text[], $4::double precision[], $5::double precision[]) as c ("group", floor, add) using ("group")
where a.kind = $1 and a."group" = m."group"
returning a."group", a.spent
