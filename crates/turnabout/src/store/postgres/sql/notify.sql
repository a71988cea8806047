-- Tells the other processes.
select pg_notify('turnabout', $1)
