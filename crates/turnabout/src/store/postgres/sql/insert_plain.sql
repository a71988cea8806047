-- Stores jobs that are ready at once and have neither a given id nor a unique key, and wakes whoever sleeps in another
-- process: one statement, which is a transaction of its own. Nothing can be in its way: ids are new. Places in the lane
-- are given in the order of the jobs. Queue and priority that the submitter did not say are as the task was published.
-- Jobs that come under a limit on unfinished jobs are left out, with all that were submitted by the same call, so that
-- those keep their order: if there are any, the others are told. Where there is no limit at all, that costs a look at two
-- empty indexes a statement.
-- $1 now (null: the server's), $2 executors that are told in another way; then one entry a job; $15 which call it is of.
with stored as (
    insert into turnabout.job (id, submitted, parent, items, lane, priority, queue, "group", task, owner, args, meta,
        subject, prepared)
    select d.id, n.now, d.parent, d.items, p.priority, p.priority,
        coalesce(d.queue, (select t.queue from turnabout.task t where t.name = d.task), 'default'),
        d."group", d.task, d.owner, d.args, d.meta, d.subject, d.prepared
    from (
        -- Places are drawn under the lock of those who make jobs ready (see lock_ring.sql).
        select coalesce($1, clock_timestamp()) as now, pg_advisory_xact_lock_shared(hashtext('turnabout'), 1) offset 0
    ) n
    cross join unnest($3::uuid[], $4::uuid[], $5::int[], $6::smallint[], $7::text[], $8::text[], $9::text[],
        $10::text[], $11::text[], $12::text[], $13::text[], $14::boolean[], $15::int[])
        as d (id, parent, items, priority, queue, "group", task, owner, args, meta, subject, prepared, call)
    cross join lateral (
        select coalesce(d.priority, (select t.priority from turnabout.task t where t.name = d.task), 2) as priority
    ) p
    where not (select exists (select from turnabout.group_setting where max_unfinished is not null)
            or exists (select from turnabout.task where max_unfinished is not null))
        or d.call <> all (array(
            select l.call from unnest($8::text[], $9::text[], $15::int[]) as l ("group", task, call)
            where exists (
                    select from turnabout.group_setting g where g.name = l."group" and g.max_unfinished is not null
                )
                or exists (select from turnabout.task t where t.name = l.task and t.max_unfinished is not null)
        ))
    returning id
)
select case when (select count(*) from stored) < cardinality($3) then array(select id from stored) end,
    (select pg_notify('turnabout', 'ready')
    where exists (select from turnabout.executor where asleep and incarnation <> all ($2)))
