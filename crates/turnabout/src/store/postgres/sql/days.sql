-- The days of a partitioned table, oldest first.
select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = ('turnabout.' || $1)::regclass and not i.inhdetachpending order by c.relname
