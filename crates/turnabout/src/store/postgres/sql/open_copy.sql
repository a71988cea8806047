-- The server's time, whether any group has a limit on unfinished jobs (by group_limited, usually empty), and so many places in
-- the order of jobs, rising.
select clock_timestamp(), exists (select from turnabout.group_setting where max_unfinished is not null),
    array(select nextval('turnabout.job_seq') from generate_series(1, $1::bigint))
