-- How many jobs are ready, counted up to a limit, by a walk through job_ready; and for the case that there are more, about
-- how many live jobs there are (as the server's statistics say), and how many are parked, up to the same limit. Reads only.
-- $1 limit.
select (select count(*) from (select from turnabout.job where executor is null and due is null and started is null
        order by queue, "group", lane, task, seq limit $1) r),
    (select n_live_tup from pg_stat_all_tables where relid = 'turnabout.job'::regclass),
    (select count(*) from (select from turnabout.job where due is not null order by due, seq limit $1) p)
