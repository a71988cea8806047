-- Seconds until the next parked job is due, and until the next schedule is. One entry of each index.
select extract(epoch from (select min(due) from turnabout.job where due is not null) - n.now)::double precision,
    extract(epoch from (select min(due) from turnabout.schedule where due is not null) - n.now)::double precision
from (select coalesce($1, clock_timestamp()) as now) n
