-- Live jobs by group. A walk through the table: for operators. Reads only.
-- $1 group, $2 owner (null: any), $3 groups after this one, $4 limit.
select "group", count(*) filter (where executor is null and due is null), count(*) filter (where due is not null),
    count(*) filter (where executor is not null), sum(items)::bigint, min(submitted)
from turnabout.job
where "group" > $3 and ($1::text is null or "group" = $1) and ($2::text is null or owner = $2)
group by "group" order by "group" limit $4
