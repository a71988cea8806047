-- When the buckets of a group's and a task's rate will be full, and what time it is. By the primary key; reads only.
-- $1 group, $2 task, $3 now (null: the server's).
select kind, name, "full", (extract(epoch from coalesce($3, clock_timestamp())) * 1000000)::bigint * 1000
from turnabout.rate where (kind, name) in ((0, $1), (1, $2)) order by kind
