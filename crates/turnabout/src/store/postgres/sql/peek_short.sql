-- As peek.sql, where streams are known to be short: all ready jobs of the groups from one name up to another, and then around
-- from the lowest, by a walk along job_ready that steps over nothing. A step of a loose scan costs as much as fifteen jobs on
-- the way.
-- Reads only; the place was locked by lock_ring.sql before. Where it finds as many jobs as it may, there may be more: the last
-- group is then not all there.
-- $1 queue, $2 the name to begin with, $3 the name before which the way up ends, $4 how many jobs at the most, $5 the name
-- before which the way around ends.
with up as materialized (
    select "group", lane, task, array_agg(seq) as seqs, array_agg(place) as places
    from (
        select "group", lane, task, seq, ctid as place from turnabout.job
        where queue = $1 and executor is null and due is null and started is null and "group" >= $2 and "group" < $3
        order by "group", lane, task, seq limit $4
    ) j
    group by "group", lane, task
    order by "group", lane, task
)
select null as "group", null as lane, null as task, false as past, 0 as steps, array[version] as seqs,
    null::tid[] as places
from turnabout.settings
union all
select "group", lane, task, false, 0, seqs, places from up
union all
(
    select "group", lane, task, false, 0, array_agg(seq), array_agg(place)
    from (
        select "group", lane, task, seq, ctid as place from turnabout.job
        where queue = $1 and executor is null and due is null and started is null and "group" < $5
        order by "group", lane, task, seq
        limit greatest($4 - (select coalesce(sum(cardinality(seqs)), 0) from up), 0)
    ) j
    group by "group", lane, task
    order by "group", lane, task
)
