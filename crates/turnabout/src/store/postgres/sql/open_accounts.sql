-- Opens accounts that do not exist yet, at their floor.
-- $1 kind, $2 now (null: the server's); then groups, floors.
insert into turnabout.account (kind, "group", spent, touched)
select $1, c."group", c.floor, coalesce($2, clock_timestamp())
from unnest($3::text[], $4::double precision[]) as c ("group", floor)
order by c."group"
on conflict do nothing
