-- All executors and their heartbeat numbers.
select incarnation, beat from turnabout.executor
