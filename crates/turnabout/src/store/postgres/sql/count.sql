-- How many jobs match, up to a limit. Walks as list.sql does, with the same parameters. Reads only.
select (select count(*) from (select from turnabout.job
        where $17::boolean and ($1::smallint[] is null or state = any ($1)) and ($2::text is null or task = $2)
        and ($3::text is null or "group" = $3) and ($4::text is null or owner = $4)
        and ($5::text is null or queue = $5) and ($6::uuid is null or id < $6)
        and ($8::text is null or strpos(lower(subject collate "C"), lower($8 collate "C")) > 0)
        and ($9::timestamptz is null or submitted >= $9) and ($10::timestamptz is null or submitted < $10)
        and ($11::uuid is null or id >= $11)
        and ($12::smallint is null or reason = $12) and ($13::text is null or error_code = $13)
        and ($14::uuid is null or parent = $14) and ($15::uuid is null or executor = $15)
        and ($16::integer is null or attempts >= $16)
    and ($19::text is null or meta::jsonb @> $19::jsonb) and ($20::text is null or not exists (
        select from jsonb_each_text($20::jsonb) n where n.value = case n.key when 'task' then task when 'group' then "group"
            when 'owner' then owner when 'queue' then queue when 'code' then error_code when 'reason' then reason::text end))
    limit $7) l)
    + (select count(*) from (select from turnabout.job_history
        where $18::boolean and state >= 0 and ($1::smallint[] is null or state = any ($1)) and ($2::text is null or task = $2)
        and ($3::text is null or "group" = $3) and ($4::text is null or owner = $4)
        and ($5::text is null or queue = $5) and ($6::uuid is null or id < $6)
        and ($8::text is null or strpos(lower(subject collate "C"), lower($8 collate "C")) > 0)
        and ($9::timestamptz is null or submitted >= $9) and ($10::timestamptz is null or submitted < $10)
        and ($11::uuid is null or id >= $11)
        and ($12::smallint is null or reason = $12) and ($13::text is null or error_code = $13)
        and ($14::uuid is null or parent = $14) and ($15::uuid is null or executor = $15)
        and ($16::integer is null or attempts >= $16)
    and ($19::text is null or meta::jsonb @> $19::jsonb) and ($20::text is null or not exists (
        select from jsonb_each_text($20::jsonb) n where n.value = case n.key when 'task' then task when 'group' then "group"
            when 'owner' then owner when 'queue' then queue when 'code' then error_code when 'reason' then reason::text end))
    limit $7) h)
