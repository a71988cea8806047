-- Sets what holds for a task.
insert into turnabout.task_limit values ($1, $2, $3, $4, $5, $6)
on conflict (name) do update set max_running = excluded.max_running, paused = excluded.paused, retention = excluded.retention,
    max_running_each = excluded.max_running_each, rate = excluded.rate
