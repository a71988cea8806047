-- Draws places in lanes, in rising order, under the lock of those who make jobs ready (see lock_ring.sql).
select nextval('turnabout.job_seq')
from (select pg_advisory_xact_lock_shared(hashtext('turnabout'), 1) offset 0) l, generate_series(1, $1::bigint)
