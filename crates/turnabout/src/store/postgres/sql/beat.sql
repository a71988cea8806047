-- Keeps an executor alive, and says whether it is to take no more jobs, and until when someone watches. A claim's lock on
-- the row does not stand in the way, a reap's does. With it goes a message to ourselves ($4), by which we learn whether we hear anything.
update turnabout.executor set beat = $2, seen = coalesce($3, clock_timestamp()) where incarnation = $1
returning draining, (select until from turnabout.feed), pg_notify('turnabout', $4)
