-- Forgets counters of caps that hold nothing, and buckets that are full: no row says the same. Whoever has locked one is about to
-- use it. $1 now (null: the server's).
with idle as (
    delete from turnabout.cap c where (c.kind, c.name) in (
        select x.kind, x.name from turnabout.cap x where x.running = 0 for update skip locked)
)
delete from turnabout.rate r where (r.kind, r.name) in (
    select x.kind, x.name from turnabout.rate x
    where x."full" <= (extract(epoch from coalesce($1, clock_timestamp())) * 1000000)::bigint * 1000 for update skip locked)
