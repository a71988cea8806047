-- Notes which jobs have changed. By the primary keys. A job that is in neither table has been deleted and is passed over;
-- one snapshot serves all of it, so that a job that ends meanwhile is found once. Under the lock of lock_hints.sql.
-- $1 now (null: the server's), $2 jobs; then jobs that were not kept: ids, groups, owners, what they were at their end.
insert into turnabout.hint (job, "group", owner, told, last)
select c.id, c."group", c.owner, coalesce($1, clock_timestamp()), c.last from (
    select j.id, j."group", j.owner, null::text as last from turnabout.job j where j.id = any ($2)
    union all
    select h.id, h."group", h.owner, null from turnabout.job_history h where h.id = any ($2)
    union all
    select d.id, d."group", d.owner, d.last
    from unnest($3::uuid[], $4::text[], $5::text[], $6::text[]) as d (id, "group", owner, last)
) c
