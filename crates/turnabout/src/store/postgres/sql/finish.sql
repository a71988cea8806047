-- Moves jobs to the ended ones. By primary key, in the order in which they are given; the fence: only while the claim stands
-- (or, for a job that nobody holds, still nobody does) and cancelling is as it was when this was decided. Gives back the
-- places under caps. Says of which streams jobs may have been the last. Tells which were moved, unless all were: a row for each
-- would be read by nobody.
-- `= any (array[..])` and not `=`: a server that thinks the table empty would read all jobs, and look for each in the list. By
-- this it can only look for each of the list among the jobs. So everywhere (tests/plans.rs).
-- $1 executor, $2 now (null: the server's); then one entry a job; $14 and $15 are empty where no task described an error,
-- $16 and $17 where nobody said how far it came.
with done as (
    delete from turnabout.job j
    using unnest($3::uuid[], $4::bigint[], $5::boolean[], $6::smallint[], $7::smallint[], $8::int[], $9::int[],
        $10::int[], $11::text[], $12::text[], $13::timestamptz[], $14::text[], $15::text[],
        $16::smallint[], $17::text[])
        as d (id, claim, cancelling, state, reason, attempts, interruptions, losses, result, error, began, message, code,
            percent, step)
    where j.id = any (array[d.id]) and j.executor is not distinct from $1 and j.claim is not distinct from d.claim
        and j.cancelling = d.cancelling
    returning j.id, j.lane, j.due, j.submitted, j.expires, j.started, j.executor, j.claim, j.parent, j.items, j.priority, j.queue, j."group",
        j.task, j.owner, j.unique_key, j.args, j.meta, d.state, d.reason, d.attempts, d.interruptions, d.losses,
        d.result, coalesce(d.error, j.error) as error, d.began, j.subject, j.prepared, d.percent, d.step,
        case when d.error is null then j.error_message else d.message end as error_message,
        case when d.error is null then j.error_code else d.code end as error_code
),
kept as (
    insert into turnabout.job_history (id, submitted, expires, started, finished, executor, claim, parent, attempts,
        interruptions, losses, items, state, priority, reason, queue, "group", task, owner, unique_key, args, meta,
        error, error_message, error_code, result, subject, prepared, percent, step)
    select id, submitted, expires, case when began is null then started else least(began, n.now) end, n.now, executor, claim, parent,
        attempts, interruptions, losses, items, state, priority, reason, queue, "group", task, owner, unique_key,
        args, meta, error, error_message, error_code, result, subject, prepared, percent, step
    from done, (select coalesce($2, clock_timestamp()) as now) n
),
noted as (
    insert into turnabout.arrival (queue, "group", lane, task)
    select distinct queue, "group", lane, task from done where $1 is null and due is null
)
select case when (select count(*) from done) < cardinality($3) then array(select id from done) end as done,
    $1 is not null and exists (select from turnabout.cap) and turnabout.give_back_places(
        (select array_agg("group") from done), (select array_agg(task) from done)
    ) as freed
