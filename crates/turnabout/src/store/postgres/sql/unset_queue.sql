-- Forgets what was set for a queue: the defaults hold again.
delete from turnabout.queue_setting where name = $1
