-- All executors and their heartbeat numbers.
select executor, number from turnabout.heartbeat
