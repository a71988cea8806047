-- Someone in this process sleeps from now on: the lock, shared with all others who do, is what turnabout.wake() looks for.
select pg_try_advisory_lock_shared(hashtext('turnabout'), 3)
