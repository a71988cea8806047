-- The oldest transaction that keeps dead rows from being cleaned up: of a session, a prepared one, or a replication slot's.
-- Reads the server's statistics. Reads only. Autovacuum itself keeps nothing.
select who, age, statement from (
    select coalesce(usename, '?') || ', ' || coalesce(nullif(application_name, ''), 'no name') || ', process ' || pid
            || ', ' || coalesce(state, '?') as who,
        extract(epoch from clock_timestamp() - xact_start)::float8 as age, left(query, 120) as statement,
        age(coalesce(backend_xmin, backend_xid)) as xids
    from pg_stat_activity
    where datname = current_database() and xact_start is not null and coalesce(backend_xmin, backend_xid) is not null
        and pid <> pg_backend_pid() and backend_type <> 'autovacuum worker'
    union all
    select owner || ', prepared transaction ' || gid, extract(epoch from clock_timestamp() - prepared)::float8,
        'ROLLBACK PREPARED ' || quote_literal(gid), age(transaction)
    from pg_prepared_xacts where database = current_database()
) t
order by xids desc nulls last, age desc limit 1
