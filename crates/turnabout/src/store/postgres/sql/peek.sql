-- Which groups come next in the ring, and which streams of ready jobs has each: a loose scan of job_ready that steps
-- from one (group, lane, task) to the next. It costs per stream found, never per job or per group in the store.
-- Reads only; the place was locked by lock_ring.sql before. Tells the first jobs of each useful stream, and where they
-- lie.
-- $1 kind, $2 queue, $3 useful groups wanted (it ends with the first stream `past` them, which shows that there is
-- more), $4 steps at the most, $5 groups to step over, $6 tasks that make a group useful, $7 the name to begin with
-- (null: by the place in the ring), $8 the name before which the way up ends, $9 the name before which the way around
-- ends (null: where it began), $10 how many jobs of each stream to tell.
with recursive start as (
    -- Names have no control characters, so this is the lowest name after the place.
    select coalesce($7, case when "left" > 0 then place else place || chr(1) end) as name
    from turnabout.ring where kind = $1
),
up as (
    select j.*, u.useful, false as past, u.useful::int as groups, 1 as steps
    from start s cross join lateral (
        select "group", lane, task, seq, ctid as place from turnabout.job
        where queue = $2 and executor is null and due is null and started is null and "group" >= s.name and "group" < $8
        order by "group", lane, task, seq limit 1
    ) j
    cross join lateral (select j."group" <> all ($5) and j.task = any ($6) as useful) u
    union all
    select j.*, u.useful, not u.same and u.open and up.groups >= $3,
        up.groups + (u.useful and not (u.same and up.useful))::int, up.steps + 1
    from up cross join lateral (
        select "group", lane, task, seq, ctid as place from turnabout.job
        where queue = $2 and executor is null and due is null and started is null and "group" < $8
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
        select "group", lane, task, seq, ctid as place from turnabout.job
        where queue = $2 and executor is null and due is null and started is null and "group" < coalesce($9, s.name)
        order by "group", lane, task, seq limit 1
    ) j
    cross join lateral (select j."group" <> all ($5) as open, j."group" <> all ($5) and j.task = any ($6) as useful) u
    where not n.past and n.steps < $4
    union all
    select j.*, u.useful, not u.same and u.open and around.groups >= $3,
        around.groups + (u.useful and not (u.same and around.useful))::int, around.steps + 1
    from around, start s cross join lateral (
        select "group", lane, task, seq, ctid as place from turnabout.job
        where queue = $2 and executor is null and due is null and started is null and "group" < coalesce($9, s.name)
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
select null as "group", null as lane, null as task, false as past, 0 as steps, array[version] as seqs,
    null::tid[] as places
from turnabout.settings
union all
select w."group", w.lane, w.task, w.past, w.steps, coalesce(a.seqs, array[w.seq]), coalesce(a.places, array[w.place])
from (select * from up union all select * from around) w
cross join lateral (
    select array_agg(seq) as seqs, array_agg(place) as places from (
        select seq, ctid as place from turnabout.job
        -- Not even looked for where one job is enough.
        where $10::int > 1 and w.useful and not w.past and executor is null and due is null and started is null
            and queue = $2 and "group" = w."group" and lane = w.lane and task = w.task
        order by seq limit $10::int
    ) j
) a
