-- Seconds until the next schedule is due; negative: one is. Walks schedule_due, one entry. $1 now (null: the server's).
select extract(epoch from min(due) - coalesce($1, clock_timestamp()))::double precision
from turnabout.schedule where due is not null
