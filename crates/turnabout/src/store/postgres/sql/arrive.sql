-- Announces jobs that were copied into streams, in the same transaction: queues, groups, lanes, tasks and lowest seqs, one entry a
-- stream.
insert into turnabout.arrival (queue, "group", lane, task, first)
select * from unnest($1::text[], $2::text[], $3::smallint[], $4::text[], $5::bigint[])
