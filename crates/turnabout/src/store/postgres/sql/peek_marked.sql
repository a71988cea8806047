-- As peek.sql, for an executor that knows most of the streams and where it left off in each: every known stream is
-- probed behind its mark, and between two known ones it looks only for what is new. So it never walks the entries
-- of jobs that it took itself. Walks job_ready; reads only.
-- $1 queue; then one entry a stretch of the ring: from (exclusive), to (exclusive; the next known stream, which is
-- probed from `mark` on, or with no mark just an end).
select f."group", f.lane, f.task
from unnest($2::text[], $3::smallint[], $4::text[], $5::text[], $6::smallint[], $7::text[], $8::bigint[])
    with ordinality as s (from_group, from_lane, from_task, to_group, to_lane, to_task, mark, number)
cross join lateral (
    select * from (
        with recursive gap as (
            (select "group", lane, task from turnabout.job
            where queue = $1 and executor is null and due is null and started is null
                and ("group", lane, task) > (s.from_group, s.from_lane, s.from_task)
                and ("group", lane, task) < (s.to_group, s.to_lane, s.to_task)
            order by "group", lane, task limit 1)
            union all
            select j."group", j.lane, j.task from gap g cross join lateral (
                select "group", lane, task from turnabout.job
                where queue = $1 and executor is null and due is null and started is null
                    and ("group", lane, task) > (g."group", g.lane, g.task)
                    and ("group", lane, task) < (s.to_group, s.to_lane, s.to_task)
                order by "group", lane, task limit 1
            ) j
        )
        select "group", lane, task from gap limit 5000
    ) new
    union all
    (select "group", lane, task from turnabout.job
    where queue = $1 and executor is null and due is null and started is null
        and "group" = s.to_group and lane = s.to_lane and task = s.to_task and seq > s.mark
    order by seq limit 1)
) f
order by s.number, f."group", f.lane, f.task
