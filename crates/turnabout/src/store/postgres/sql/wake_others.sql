-- Wakes whoever sleeps in another process; nothing if nobody does. $1 executors that are told in another way.
select pg_notify('turnabout', 'ready')
where exists (select from turnabout.executor where asleep and incarnation <> all ($1))
