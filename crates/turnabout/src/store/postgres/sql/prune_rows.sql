-- Forgets ended jobs that a rule covers and that are past their time, with what is kept beside them. Finds what ended lately by
-- job_history_finished; days past the bound of ids are not looked at. Whom another process is just forgetting is passed over.
-- `any (array[..])`, so that each is looked for in its own day only.
-- $1 final states, $2 ended after (null: whenever) and $3 up to, $4 groups and $5 tasks (null: all), $6 not these groups, $7 not
-- these tasks, $8 ids below, $9 how many at the most.
with past as materialized (
    select id from turnabout.job_history
    where state >= 0 and state = any ($1) and ($2::timestamptz is null or finished > $2) and finished <= $3 and id < $8
        and ($4::text[] is null or "group" = any ($4)) and ($5::text[] is null or task = any ($5))
        and not "group" = any ($6) and not task = any ($7)
    limit $9 for update skip locked
),
gone as (
    delete from turnabout.job_history h using past where h.id = any (array[past.id]) returning h.id
),
logs as (delete from turnabout.job_log l using gone where l.job = any (array[gone.id])),
attempts as (delete from turnabout.job_attempt a using gone where a.job = any (array[gone.id]))
select count(*) from gone
