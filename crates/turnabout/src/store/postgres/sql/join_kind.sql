-- Makes a kind of executors known, and tells its number; the function is in migrations/0001/streams.sql.
-- $1 name, $2 queues, $3 tasks.
select turnabout.join_kind($1, $2, $3)
