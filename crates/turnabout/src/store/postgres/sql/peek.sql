-- Which groups come next in the ring, and which streams of ready jobs has each: a loose scan of job_ready that steps
-- from one (group, lane, task) to the next. It costs per stream found, never per job or per group in the store.
-- Reads only; the place was locked by lock_ring.sql before. Tells which job is at the head of each stream, and where.
-- $1 kind, $2 queue, $3 useful groups wanted (it ends with the first stream `past` them, which shows that there is
-- more), $4 steps at the most, $5 groups to step over, $6 tasks that make a group useful.
with recursive start as (
    -- Names have no control characters, so this is the lowest name after the place.
    select case when "left" > 0 then place else place || chr(1) end as name from turnabout.ring where kind = $1
),
up as (
    select j.*, u.useful, false as past, u.useful::int as groups, 1 as steps
    from start s cross join lateral (
        select "group", lane, task, ctid as place, id from turnabout.job
        where queue = $2 and executor is null and due is null and "group" >= s.name
        order by "group", lane, task, seq limit 1
    ) j
    cross join lateral (select j."group" <> all ($5) and j.task = any ($6) as useful) u
    union all
    select j.*, u.useful, not u.same and u.open and up.groups >= $3,
        up.groups + (u.useful and not (u.same and up.useful))::int, up.steps + 1
    from up cross join lateral (
        select "group", lane, task, ctid as place, id from turnabout.job
        where queue = $2 and executor is null and due is null
            and ("group", lane, task) > (up."group", case when up."group" = any ($5) then 99 else up.lane end, up.task)
        order by "group", lane, task, seq limit 1
    ) j
    cross join lateral (
        select same, open, open and (j.task = any ($6) or same and up.useful) as useful
        from (select j."group" = up."group" as same, j."group" <> all ($5) as open) s
    ) u
    where not up.past and up.steps < $4
),
seen as (
    select coalesce(max(groups), 0) as groups, coalesce(max(steps), 0) as steps, coalesce(bool_or(past), false) as past
    from up
),
around as (
    select j.*, u.useful, u.open and n.groups >= $3 as past, n.groups + u.useful::int as groups, n.steps + 1 as steps
    from start s, seen n cross join lateral (
        select "group", lane, task, ctid as place, id from turnabout.job
        where queue = $2 and executor is null and due is null and "group" < s.name
        order by "group", lane, task, seq limit 1
    ) j
    cross join lateral (select j."group" <> all ($5) as open, j."group" <> all ($5) and j.task = any ($6) as useful) u
    where not n.past and n.steps < $4
    union all
    select j.*, u.useful, not u.same and u.open and around.groups >= $3,
        around.groups + (u.useful and not (u.same and around.useful))::int, around.steps + 1
    from around, start s cross join lateral (
        select "group", lane, task, ctid as place, id from turnabout.job
        where queue = $2 and executor is null and due is null and "group" < s.name
            and ("group", lane, task)
                > (around."group", case when around."group" = any ($5) then 99 else around.lane end, around.task)
        order by "group", lane, task, seq limit 1
    ) j
    cross join lateral (
        select same, open, open and (j.task = any ($6) or same and around.useful) as useful
        from (select j."group" = around."group" as same, j."group" <> all ($5) as open) s
    ) u
    where not around.past and around.steps < $4
)
-- First the version of the settings, as of the same moment: what was set before a job was submitted holds for it.
select null as "group", null as lane, null as task, false as past, 0 as steps, version::text as place, null as id
from turnabout.settings
union all
select "group", lane, task, past, steps, place::text, id from up
union all
select "group", lane, task, past, steps, place::text, id from around
