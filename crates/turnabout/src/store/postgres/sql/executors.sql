-- All executors. Walks the table, which is short.
select incarnation, name, slots, queues, tasks, version, beat from turnabout.executor order by name, incarnation
