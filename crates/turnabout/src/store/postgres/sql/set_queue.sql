-- Sets what holds for a queue.
insert into turnabout.queue_setting values ($1, $2) on conflict (name) do update set paused = excluded.paused
