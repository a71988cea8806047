-- Draws places in lanes, in rising order.
select nextval('turnabout.job_seq') from generate_series(1, $1::bigint)
