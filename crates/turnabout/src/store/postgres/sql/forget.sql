-- As finish.sql where ended jobs are not kept.
-- $1 executor; then ids, claim numbers, cancelling.
with done as (
    delete from turnabout.job j
    using unnest($2::uuid[], $3::bigint[], $4::boolean[]) as d (id, claim, cancelling)
    where j.id = d.id and j.executor is not distinct from $1 and j.claim is not distinct from d.claim
        and j.cancelling = d.cancelling
    returning j.id, j."group", j.task
),
freed as (
    update turnabout.cap c set running = greatest(c.running - n.jobs, 0)
    from (
        select kind, name, sum(jobs) as jobs from (
            select 0 as kind, "group" as name, count(*) as jobs from done
            where $1 is not null and exists (select from turnabout.cap) group by "group"
            union all
            select 1, task, count(*) from done
            where $1 is not null and exists (select from turnabout.cap) group by task
        ) f group by kind, name order by kind, name
    ) n
    where c.kind = n.kind and c.name = n.name
    returning 1
)
select case when (select count(*) from done) < cardinality($2) then array(select id from done) end as done,
    exists (select from freed) as freed
