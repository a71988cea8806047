-- Publishes a task's settings; writes only what differs.
insert into turnabout.task as t (name, queue, priority, retries, retry_delay, retry_cap, jitter, restartable, time_limit,
    max_unfinished, hooks)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
on conflict (name) do update set queue = excluded.queue, priority = excluded.priority, retries = excluded.retries,
    retry_delay = excluded.retry_delay, retry_cap = excluded.retry_cap, jitter = excluded.jitter,
    restartable = excluded.restartable, time_limit = excluded.time_limit,
    max_unfinished = excluded.max_unfinished, hooks = excluded.hooks
where t is distinct from excluded
