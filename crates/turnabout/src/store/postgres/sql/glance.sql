-- What is ready in a queue, if that is little: the first jobs by job_ready. Where fewer come than were asked for, there are
-- no others. Reads only; the place was locked by lock_ring.sql before.
-- $1 queue, $2 how many.
--
-- First the version of the settings, as of the same moment (see peek.sql).
(select null as "group", null as lane, null as task, version as seq, null as place from turnabout.settings)
union all
(select "group", lane, task, seq, ctid from turnabout.job
where queue = $1 and executor is null and due is null and started is null
order by "group", lane, task, seq limit $2::int)
