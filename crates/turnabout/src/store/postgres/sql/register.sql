-- Makes an executor known, or its new tasks. By the primary keys; the same incarnation again is the same executor, and its
-- heartbeat number goes on.
-- $1 incarnation, $2 name, $3 slots, $4 queues, $5 tasks, $6 version, $7 heartbeat number, $8 now (null: the server's), $9 kind.
with now as (select coalesce($8, clock_timestamp()) as now),
beat as (
    insert into turnabout.heartbeat (executor, number, seen) select $1, $7, now from now
    on conflict (executor) do update set seen = excluded.seen
),
called as (
    insert into turnabout.executor_name (incarnation, name, since) select $1, $2, now from now
    on conflict (incarnation) do update set name = excluded.name
)
insert into turnabout.executor (incarnation, kind, name, slots, queues, tasks, version, since)
select $1, $9, $2, $3, $4, $5, $6, now from now
on conflict (incarnation) do update
set kind = excluded.kind, name = excluded.name, slots = excluded.slots, queues = excluded.queues, tasks = excluded.tasks,
    version = excluded.version
