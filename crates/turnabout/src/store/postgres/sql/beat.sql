-- Keeps an executor alive, and says whether it is to take no more jobs. A claim's lock on the row does not stand in the
-- way, a reap's does.
update turnabout.executor set beat = $2, seen = coalesce($3, clock_timestamp()) where incarnation = $1
returning draining
