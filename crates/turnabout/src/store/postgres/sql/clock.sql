-- The server's time, and the lock of those who make jobs ready, before a copy draws places (see lock_ring.sql).
select clock_timestamp() from (select pg_advisory_xact_lock_shared(hashtext('turnabout'), 1) offset 0) l
