-- Held while hints are written, so that their numbers become visible in their order.
select pg_advisory_xact_lock(hashtext('turnabout'), 2)
