-- How many jobs there are. Counts the live table and all of history: for operators and tests, not for hot paths.
select count(*) filter (where executor is null and due is null), count(*) filter (where due is not null),
    count(*) filter (where executor is not null), (select count(*) from turnabout.job_history)
from turnabout.job
