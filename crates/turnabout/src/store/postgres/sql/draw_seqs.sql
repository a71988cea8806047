-- Draws places in the order of jobs, rising.
select nextval('turnabout.job_seq') from generate_series(1, $1::bigint)
