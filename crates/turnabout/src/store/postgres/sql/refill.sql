-- The next jobs of known streams, and where they lie: a walk of job_ready from the last known `seq` of each on. Reads
-- only.
-- $1 how many of each; then one entry a stream: queue, group, lane, task, last seq.
select a.seqs, a.places
from unnest($2::text[], $3::text[], $4::smallint[], $5::text[], $6::bigint[])
    with ordinality as s (queue, "group", lane, task, last, number)
cross join lateral (
    select array_agg(seq) as seqs, array_agg(place) as places from (
        select seq, ctid as place from turnabout.job
        where executor is null and due is null and started is null
            and queue = s.queue and "group" = s."group" and lane = s.lane and task = s.task and seq > s.last
        order by seq limit $1::int
    ) j
) a
order by s.number
