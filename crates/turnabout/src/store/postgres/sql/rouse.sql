-- Nobody in this process sleeps any longer.
select pg_advisory_unlock_shared(hashtext('turnabout'), 3)
