-- Marks held jobs as running. By primary key (see finish.sql); only while the claim stands and no cancel was requested.
-- $1 executor, $2 now (null: the server's), $3 state; then ids, claim numbers, attempts, when they started.
update turnabout.job j
set state = $3, attempts = s.attempts, started = least(s.started, coalesce($2, clock_timestamp()))
from unnest($4::uuid[], $5::bigint[], $6::int[], $7::timestamptz[]) as s (id, claim, attempts, started)
where j.id = any (array[s.id]) and j.executor = $1 and j.claim = s.claim and not j.cancelling
returning j.id
