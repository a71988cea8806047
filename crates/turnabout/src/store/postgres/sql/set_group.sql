-- Sets what holds for a group, or (without a name) for every group that has nothing of its own.
insert into turnabout.group_setting values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (name) do update set weight = excluded.weight, max_running = excluded.max_running, paused = excluded.paused,
    max_unfinished = excluded.max_unfinished, retention = excluded.retention, rate = excluded.rate, max_share = excluded.max_share,
    max_unknown_tasks = excluded.max_unknown_tasks
