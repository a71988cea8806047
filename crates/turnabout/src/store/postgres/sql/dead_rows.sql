-- Rows in use and dead rows of the tables that takes and heartbeats read. Reads the server's statistics. Reads only.
select relname::text, n_live_tup, n_dead_tup from pg_stat_all_tables
where relid in ('turnabout.job'::regclass, 'turnabout.stream'::regclass, 'turnabout.arrival'::regclass,
    'turnabout.ring'::regclass, 'turnabout.hold'::regclass, 'turnabout.heartbeat'::regclass)
order by n_dead_tup desc
