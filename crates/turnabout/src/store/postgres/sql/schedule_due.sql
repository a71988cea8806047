-- Schedules that are due, the longest due first, and the present moment. Walks schedule_due; those that another process
-- fires at the moment are skipped, so that each is in one pair of hands until it has moved on.
-- $1 now (null: the server's), $2 limit.
with n as materialized (select coalesce($1, clock_timestamp()) as now)
select id, "group", owner, name, said, standing, (select now from n) as now
from turnabout.schedule where due <= (select now from n) order by due limit $2 for update skip locked
