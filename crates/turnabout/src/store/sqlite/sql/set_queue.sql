-- Sets something for a queue. By the primary key; who comes last is right.
REPLACE INTO queue_setting (queue, paused) VALUES (?1, ?2)
