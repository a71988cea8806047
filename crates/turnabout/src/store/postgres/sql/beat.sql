-- Keeps an executor alive, and says whether it is to take no more jobs or to end, and until when someone watches. Nothing where a reap
-- has come first. With it goes a message to ourselves ($4, if we listen), by which we learn whether we hear anything.
update turnabout.heartbeat h set number = $2, seen = coalesce($3, clock_timestamp()) where h.executor = $1
returning (select draining from turnabout.executor e where e.incarnation = $1), (select until from turnabout.feed),
    (select pg_notify('turnabout', $4::text) where $4::text is not null),
    (select dismissed from turnabout.executor e where e.incarnation = $1)
