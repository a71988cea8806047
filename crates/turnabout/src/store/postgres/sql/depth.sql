-- Where a list is after so many looks ($4) at jobs, of a group ($3) or of any (null), from the cursor ($1) down to the oldest id
-- ($2). Walks the primary keys backwards, or job_history_group, or for failed ones only ($5) job_history_failed_id.
-- $6 and $7: whether unfinished ones are looked at, and whether ended ones are. Reads only.
select id from (
    (select id from turnabout.job
    where $6::boolean and not $5::boolean and ($1::uuid is null or id < $1) and ($2::uuid is null or id >= $2)
    order by id desc offset $4 limit 1)
    union all
    (select id from turnabout.job_history
    where $7::boolean and not $5 and $3::text is null and ($1 is null or id < $1) and ($2 is null or id >= $2)
    order by id desc offset $4 limit 1)
    union all
    (select id from turnabout.job_history
    where $7 and $3 is not null and "group" = $3 and state >= 0 and ($1 is null or id < $1) and ($2 is null or id >= $2)
    order by id desc offset $4 limit 1)
    union all
    (select id from turnabout.job_history
    where $5 and $3 is null and state = 5 and ($1 is null or id < $1) and ($2 is null or id >= $2)
    order by id desc offset $4 limit 1)
) d order by id desc limit 1
