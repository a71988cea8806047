-- Makes an executor known.
insert into turnabout.executor (incarnation, name, slots, queues, tasks, version, beat, since, seen)
select $1, $2, $3, $4, $5, $6, $7, n.now, n.now from (select coalesce($8, clock_timestamp()) as now) n
