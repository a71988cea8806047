-- Forgets keys of rates that say nothing any longer: their buckets are full and nobody is put off. $1 now (null: the server's).
with moment (at) as (select (extract(epoch from coalesce($1, clock_timestamp())) * 1000000)::bigint * 1000)
delete from turnabout.rate_key r using moment where r."full" <= at and r.next <= at and r.late <= at
