-- The server's time, whether any group has a limit on unfinished jobs (by group_limited, usually empty), and the lock of those who make jobs ready, before a copy draws places (see lock_ring.sql).
select clock_timestamp(), exists (select from turnabout.group_setting where max_unfinished is not null)
from (select pg_advisory_xact_lock_shared(hashtext('turnabout'), 1) offset 0) l
