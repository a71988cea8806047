-- As finish.sql where ended jobs are not kept.
-- $1 executor; then ids, claim numbers, cancelling.
with done as (
    delete from turnabout.job j
    using unnest($2::uuid[], $3::bigint[], $4::boolean[]) as d (id, claim, cancelling)
    where j.id = any (array[d.id]) and j.executor is not distinct from $1 and j.claim is not distinct from d.claim
        and j.cancelling = d.cancelling
    returning j.id, j.queue, j."group", j.lane, j.task, j.due
),
noted as (
    insert into turnabout.arrival (queue, "group", lane, task)
    select distinct queue, "group", lane, task from done where $1 is null and due is null
)
select case when (select count(*) from done) < cardinality($2) then array(select id from done) end as done,
    $1 is not null and exists (select from turnabout.cap) and turnabout.give_back_places(
        (select array_agg("group") from done), (select array_agg(task) from done)
    ) as freed
