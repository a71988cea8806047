-- What executors hold, by task and executor. Walks the holds of each executor, and reads each job by its primary key: what is
-- held, no more. Reads only.
select j.task, e.incarnation, count(*)
from turnabout.executor e
    cross join lateral (select id from turnabout.in_hand(e.incarnation, null) where id is not null offset 0) h
    cross join lateral (select task from turnabout.job j where j.id = h.id offset 0) j
group by 1, 2
order by 1, 2
