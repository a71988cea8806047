-- How many jobs match, up to a limit. Walks as list.sql does, with the same parameters. Reads only.
select (select count(*) from (select from turnabout.job
        where ($1::smallint[] is null or state = any ($1)) and ($2::text is null or task = $2)
        and ($3::text is null or "group" = $3) and ($4::text is null or owner = $4)
        and ($5::text is null or queue = $5) and ($6::uuid is null or id < $6)
        and ($8::text is null or strpos(lower(subject collate "C"), lower($8 collate "C")) > 0)
        and ($9::timestamptz is null or submitted >= $9) and ($10::timestamptz is null or submitted < $10)
        and ($11::uuid is null or id >= $11)
    limit $7) l)
    + (select count(*) from (select from turnabout.job_history
        where state >= 0 and ($1::smallint[] is null or state = any ($1)) and ($2::text is null or task = $2)
        and ($3::text is null or "group" = $3) and ($4::text is null or owner = $4)
        and ($5::text is null or queue = $5) and ($6::uuid is null or id < $6)
        and ($8::text is null or strpos(lower(subject collate "C"), lower($8 collate "C")) > 0)
        and ($9::timestamptz is null or submitted >= $9) and ($10::timestamptz is null or submitted < $10)
        and ($11::uuid is null or id >= $11)
    limit $7) h)
