-- Forgets what executors were called that registered before $1 and are gone. Walks the table, which is small.
delete from turnabout.executor_name n
where n.since < $1 and not exists (select from turnabout.executor e where e.incarnation = n.incarnation)
