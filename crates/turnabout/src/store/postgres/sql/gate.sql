-- Lets one submit pass each gate at a time: the others wait for it to commit, and then count what it stored. Taken in
-- the order of the names by everyone, so that two never wait for each other.
-- $1 now (null: the server's); then groups, tasks, owners.
insert into turnabout.gate as g ("group", task, owner, passed)
select d."group", d.task, d.owner, coalesce($1, clock_timestamp())
from unnest($2::text[], $3::text[], $4::text[]) as d ("group", task, owner)
order by d."group" collate "C", d.task collate "C", d.owner collate "C"
on conflict ("group", task, owner) do update set passed = excluded.passed
