-- Stores jobs. An id or a unique key that is taken is passed over here and looked at by holders.sql; a conflict with
-- someone who has not committed yet waits for them, so there is never a second job.
-- Jobs of groups that have a limit are passed over too, unless $20 says that they were let in (limits.rs); where no group
-- has one, that costs a look at an empty index a statement.
-- $1 now (null: the server's); then one entry a job. Places were drawn by draw_seqs.sql.
with stored as (
insert into turnabout.job as j (id, seq, submitted, due, expires, parent, items, lane, priority, queue, "group", task, owner,
    unique_key, args, meta, subject, prepared, limited)
select d.id, d.seq, n.now,
    case when w.due > n.now then w.due end,
    coalesce(d.expires_at, n.now + make_interval(secs => d.expires_in)),
    d.parent, d.items,
    d.priority, d.priority, d.queue, d."group", d.task, d.owner, d.unique_key, d.args, d.meta, d.subject,
    d.prepared, $20
from (select coalesce($1, clock_timestamp()) as now) n
cross join unnest($2::uuid[], $3::timestamptz[], $4::double precision[], $5::timestamptz[], $6::double precision[],
    $7::uuid[], $8::int[], $9::smallint[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[],
    $15::text[], $16::text[], $17::bigint[], $18::text[], $19::boolean[])
    as d (id, at, delay, expires_at, expires_in, parent, items, priority, queue, "group", task, owner, unique_key,
        args, meta, seq, subject, prepared)
cross join lateral (select coalesce(d.at, n.now + make_interval(secs => d.delay)) as due) w
where $20 or not (select exists (select from turnabout.group_setting where max_unfinished is not null))
    or coalesce((select g.max_unfinished from turnabout.group_setting g where g.name = d."group"),
        (select g.max_unfinished from turnabout.group_setting g where g.name = ''), 2147483647) = 2147483647
on conflict do nothing
returning j.id, j.seq, j.due, j.queue, j."group", j.lane, j.task
),
arrived as (
    insert into turnabout.arrival (queue, "group", lane, task, first)
    select queue, "group", lane, task, min(seq) from stored where due is null group by queue, "group", lane, task
)
select id from stored
