-- As peek.sql, for an executor that knows most of the streams and where it left off in each: every known stream is
-- probed behind its mark, and between two known ones it looks only for what is new. So it never walks the entries
-- of jobs that it took itself. Walks job_ready; reads only.
-- $1 queue; then one entry a stretch of the ring: from (exclusive), to (exclusive; the next known stream, which is
-- probed from `mark` on, or with no mark just an end); $9 how many new streams to tell of each stretch. Tells the number
-- of the stretch as well.
select f."group", f.lane, f.task, s.number
from unnest($2::text[], $3::smallint[], $4::text[], $5::text[], $6::smallint[], $7::text[], $8::bigint[])
    with ordinality as s (from_group, from_lane, from_task, to_group, to_lane, to_task, mark, number)
cross join lateral (
    select * from (
        with recursive gap as (
            select s.from_group collate "C" as "group", s.from_lane as lane, s.from_task collate "C" as task, false as new
            union all
            -- What comes next before the known stream. Not by one comparison of (group, lane, task) with its key: the server
            -- ends a scan early only by the first of the columns compared, and would walk all entries of that stream.
            select j.*, true from gap g cross join lateral (
                select * from (
                    (select "group", lane, task from turnabout.job
                    where queue = $1 and executor is null and due is null and started is null
                        and g."group" < s.to_group
                        and ("group", lane, task) > (g."group", g.lane, g.task) and "group" < s.to_group
                    order by "group", lane, task limit 1)
                    union all
                    -- In its group: the same lane as the last one ..
                    (select "group", lane, task from turnabout.job
                    where queue = $1 and executor is null and due is null and started is null
                        and g."group" = s.to_group
                        and "group" = s.to_group and lane = g.lane and task > g.task
                        and task < case when g.lane = s.to_lane then s.to_task else repeat(chr(1114111), 51) end
                    order by task limit 1)
                    union all
                    -- .. the lanes after that ..
                    (select "group", lane, task from turnabout.job
                    where queue = $1 and executor is null and due is null and started is null
                        and "group" = s.to_group
                        and lane > case when g."group" = s.to_group then g.lane else -32768 end and lane < s.to_lane
                    order by lane, task limit 1)
                    union all
                    -- .. and that of the known stream itself.
                    (select "group", lane, task from turnabout.job
                    where queue = $1 and executor is null and due is null and started is null
                        and (g."group" < s.to_group or g.lane < s.to_lane)
                        and "group" = s.to_group and lane = s.to_lane and task < s.to_task
                    order by task limit 1)
                ) next
                order by "group", lane, task limit 1
            ) j
        )
        select "group", lane, task from gap where new limit $9::int
    ) new
    union all
    (select "group", lane, task from turnabout.job
    where queue = $1 and executor is null and due is null and started is null
        and "group" = s.to_group and lane = s.to_lane and task = s.to_task and seq > s.mark
    order by seq limit 1)
) f
order by s.number, f."group", f.lane, f.task
