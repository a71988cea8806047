-- What is set for queues. Walks the table: only queues for which something is set are in it.
SELECT queue, paused FROM queue_setting
