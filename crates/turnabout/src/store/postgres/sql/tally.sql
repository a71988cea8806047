-- How many jobs have ids made since, and how many have ended since, each up to a limit. Walks the ends of the primary keys,
-- and job_history_finished. Reads only.
-- $1 group, $2 owner (null: any), $3 since, $4 limit, $5 the states that are told apart, in their order.
select
    (select count(*) from (select from turnabout.job where id >= turnabout.id_floor($3) and submitted >= $3
        and ($1::text is null or "group" = $1) and ($2::text is null or owner = $2) limit $4) n)
    + (select count(*) from (select from turnabout.job_history where id >= turnabout.id_floor($3) and submitted >= $3
        and state >= 0 and ($1::text is null or "group" = $1) and ($2::text is null or owner = $2) limit $4) n),
    count(*) filter (where state = ($5::smallint[])[1]), count(*) filter (where state = ($5::smallint[])[2]),
    count(*) filter (where state = ($5::smallint[])[3])
from (select state from turnabout.job_history where finished >= $3
    and ($1::text is null or "group" = $1) and ($2::text is null or owner = $2) limit $4) e
