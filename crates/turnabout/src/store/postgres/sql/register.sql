-- Makes an executor known, or its new tasks. By the primary key; the same incarnation again is the same executor, and
-- its heartbeat number goes on.
insert into turnabout.executor (incarnation, name, slots, queues, tasks, version, beat, since, seen)
select $1, $2, $3, $4, $5, $6, $7, n.now, n.now from (select coalesce($8, clock_timestamp()) as now) n
on conflict (incarnation) do update
set name = excluded.name, slots = excluded.slots, queues = excluded.queues, tasks = excluded.tasks,
    version = excluded.version, seen = excluded.seen
