-- How the server is doing: the schema's version, connections, the size of the tables, and whether it can be written to.
-- Reads the server's statistics. Reads only.
select (select max(version) from turnabout.migration),
    (select count(*) from pg_stat_activity where backend_type = 'client backend'),
    current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint,
    (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c
        where c.relnamespace = 'turnabout'::regnamespace and c.relkind = 'r'),
    pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean,
    extract(epoch from clock_timestamp())::float8
