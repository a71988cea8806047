-- Schedules in the order of their keys, after one of them. Walks schedule_by_key; those that do not match are stepped over,
-- which are none where a group is given, except for its other owners.
select id, "group", owner, name, said, standing from turnabout.schedule
where ("group", owner, name) > ($1, $2, $3)
    and ($4::text is null or "group" = $4) and ($5::text is null or owner = $5) and ($6::text is null or task = $6)
order by "group", owner, name limit $7
