-- Sets what holds for a task.
insert into turnabout.task_limit values ($1, $2, $3, $4)
on conflict (name) do update set max_running = excluded.max_running, paused = excluded.paused, retention = excluded.retention
