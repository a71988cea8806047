-- A page of jobs, newest id first, over live and ended ones. Walks the primary keys backwards (or
-- job_history_group, or the indexes of parents).
-- $1 states, $2 task, $3 group, $4 owner, $5 queue, $6 before, $7 limit, $8 text in the subject,
-- $9 submitted then or later, $10 before then, $11 from this id on, $12 reason, $13 error code, $14 parent, $15 executor,
-- $16 attempts at least; null: any. $17 and $18: whether unfinished ones are asked for, and whether ended ones are. $19 entries of the
-- meta and $20 what is left out, as JSON. $21 without arguments and results: long ones lie elsewhere, and are not even read.
(select j.id, seq, submitted, due, expires, started, null::timestamptz as finished, j.executor, j.claim, parent, attempts,
    interruptions, losses, items, state, lane, priority, reason, cancelling, queue, "group", task, owner, unique_key,
    case when not $21::boolean then args end as args, meta, error, error_message, error_code, null as result, p.percent, p.step, subject, prepared,
    (select n.name from turnabout.executor_name n where n.incarnation = j.executor) as executor_name
from turnabout.job j
    -- One by one (`offset 0`): a plan made while there is none would read all of them, and be kept.
    left join lateral (
        select * from turnabout.progress p where p.job = j.id and p.executor = j.executor and p.claim = j.claim offset 0
    ) p on true
where $17::boolean and ($1::smallint[] is null or state = any ($1)) and ($2::text is null or task = $2)
    and ($3::text is null or "group" = $3) and ($4::text is null or owner = $4)
    and ($5::text is null or queue = $5) and ($6::uuid is null or j.id < $6)
    and ($8::text is null or strpos(lower(subject collate "C"), lower($8 collate "C")) > 0)
    and ($9::timestamptz is null or submitted >= $9) and ($10::timestamptz is null or submitted < $10)
    and ($11::uuid is null or j.id >= $11)
    and ($12::smallint is null or reason = $12) and ($13::text is null or error_code = $13)
    and ($14::uuid is null or parent = $14) and ($15::uuid is null or j.executor = $15)
    and ($16::integer is null or attempts >= $16)
    and ($19::text is null or meta::jsonb @> $19::jsonb) and ($20::text is null or not exists (
        select from jsonb_each_text($20::jsonb) n where n.value = case n.key when 'task' then task when 'group' then "group"
            when 'owner' then owner when 'queue' then queue when 'code' then error_code when 'reason' then reason::text end))
order by j.id desc limit $7)
union all
(select id, 0::bigint as seq, submitted, null, expires, started, finished, executor, claim, parent, attempts,
    interruptions, losses, items, state, null, priority, reason, false, queue, "group", task, owner, unique_key,
    case when not $21 then args end, meta, error, error_message, error_code, case when not $21 then result end, percent, step, subject, prepared,
    (select n.name from turnabout.executor_name n where n.incarnation = job_history.executor)
from turnabout.job_history
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
order by id desc limit $7)
order by id desc limit $7
