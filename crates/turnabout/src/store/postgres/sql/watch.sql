-- Someone watches. What was watched until now goes on; otherwise a new epoch begins. Tells all processes, and forgets old
-- hints. Two who come at once: the second sees what the first has written.
-- $1 now (null: the server's), $2 seconds, $3 seconds that hints are kept.
with n as (select coalesce($1, clock_timestamp()) as now),
old as (
    delete from turnabout.hint h using n where h.told < n.now - make_interval(secs => $3) returning h.number
),
told as (select pg_notify('turnabout', 'watched'))
update turnabout.feed f
set epoch = f.epoch + (f.until < n.now)::int, until = greatest(f.until, n.now + make_interval(secs => $2)),
    forgotten = greatest(f.forgotten, (select max(number) from old))
from n, (select count(*) from told) t
returning f.epoch, f.until, f.forgotten, greatest(f.forgotten, (select max(number) from turnabout.hint))
