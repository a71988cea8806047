-- Seconds until the next parked job is due.
select extract(epoch from min(due) - coalesce($1, clock_timestamp()))::double precision
from turnabout.job where due is not null
