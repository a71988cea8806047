-- Notes what happened to schedules, under the lock on the table. $1 now (null: the server's).
insert into turnabout.schedule_event (at, "group", owner, name, kind)
select coalesce($1, clock_timestamp()), d."group", d.owner, d.name, d.kind
from unnest($2::text[], $3::text[], $4::text[], $5::smallint[]) as d ("group", owner, name, kind)
