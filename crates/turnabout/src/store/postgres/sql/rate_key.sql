-- How the jobs of a key stand, whose starts are limited, and what time it is. By the primary key; one row, with nulls for a key that
-- is not there. $1 key, $2 now (null: the server's).
select r."full", r.next, r.late, (extract(epoch from coalesce($2, clock_timestamp())) * 1000000)::bigint * 1000
from (select) as always left join turnabout.rate_key r on r.key = $1
