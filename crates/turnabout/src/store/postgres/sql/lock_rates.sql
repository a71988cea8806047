-- Locks the buckets of rates in the order of their names, so that two claims never wait for each other; tells when each will be
-- full, and what time it is once it is locked. By the primary key. $1 kinds, $2 names, $3 now (null: the server's).
with locked as materialized (
    select kind, name, "full" from turnabout.rate
    where (kind, name) in (select * from unnest($1::smallint[], $2::text[]))
    order by kind, name
    for update
)
select kind, name, "full", (extract(epoch from coalesce($3, clock_timestamp())) * 1000000)::bigint * 1000 from locked
