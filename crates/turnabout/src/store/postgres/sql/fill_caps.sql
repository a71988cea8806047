-- Takes one place under each of these caps, which are locked by lock_caps.sql. $1 kinds, $2 names.
update turnabout.cap set running = running + 1 where (kind, name) in (select * from unnest($1::smallint[], $2::text[]))
