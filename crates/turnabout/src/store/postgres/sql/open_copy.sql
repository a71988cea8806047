-- The server's time, whether any group has a limit on unfinished jobs (by group_limited, usually empty), the lock of those
-- who make jobs ready, before a copy draws places (see lock_ring.sql), and $1 such places, in rising order, drawn under it.
select clock_timestamp(), exists (select from turnabout.group_setting where max_unfinished is not null),
    array_agg(nextval('turnabout.job_seq')) filter (where n > 0)
from (select pg_advisory_xact_lock_shared(hashtext('turnabout'), 1) offset 0) l, generate_series(least($1::bigint, 1), $1) n
