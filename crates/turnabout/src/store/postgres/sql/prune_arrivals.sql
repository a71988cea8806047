-- Forgets arrivals that every kind has filed, as far as it has executors: the others open their streams anew when they come back.
-- Under a lock on the kinds, so that none of them comes back meanwhile. Walks arrival_tx from where the last call ended.
-- $1 the transaction with which to begin. Tells the one with which to go on.
with bound as (
    select b.tx from (
        select pg_snapshot_xmin(r.seen) as tx
        from turnabout.kind k cross join lateral (
            select seen from turnabout.ring r where r.kind = k.id order by n desc limit 1
        ) r
        where exists (select from turnabout.executor e where e.kind = k.id)
        union all
        select pg_snapshot_xmin(pg_current_snapshot())
    ) b
    -- PostgreSQL 14 has no min() of these.
    order by b.tx limit 1
),
gone as (
    delete from turnabout.arrival a where a.tx >= $1::text::xid8 and a.tx < (select tx from bound)
)
select tx::text from bound
