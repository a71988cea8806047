-- What executors hold, by group, task and queue. Walks the holds of each executor, and reads each job by its primary key:
-- what is held, no more. Reads only.
-- $1 the state of a job that has started.
select j."group", j.task, j.queue, count(*), count(*) filter (where j.state = $1), min(j.started) filter (where j.state = $1)
from turnabout.executor e
    cross join lateral (select id from turnabout.in_hand(e.incarnation, null) where id is not null offset 0) h
    cross join lateral (select "group", task, queue, state, started from turnabout.job j where j.id = h.id offset 0) j
group by 1, 2, 3
order by 4 desc, 1, 2, 3
