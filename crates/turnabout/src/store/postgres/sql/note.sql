-- Notes hooks that are owed, in the transaction of the change that they are about; tells whoever may run them.
-- $1 now (null: the server's); then tasks, hooks and jobs, one entry each.
with noted as (
    insert into turnabout.owed (task, hook, since, due, job)
    select d.task, d.hook, n.now, n.now, d.job
    from (select coalesce($1, clock_timestamp()) as now) n,
        unnest($2::text[], $3::smallint[], $4::text[]) as d (task, hook, job)
    returning 1
)
select pg_notify('turnabout', 'owed') from noted limit 1
