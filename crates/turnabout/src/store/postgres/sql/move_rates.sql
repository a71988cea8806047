-- Jobs under rates were taken: their buckets, which lock_rates.sql has locked, will be full later. By the primary key.
-- $1 kinds, $2 names, $3 when.
update turnabout.rate r set "full" = u."full"
from unnest($1::smallint[], $2::text[], $3::bigint[]) as u (kind, name, "full")
where r.kind = u.kind and r.name = u.name
