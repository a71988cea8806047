-- Published tasks: all, or those with these names.
select name, queue, priority, retries, retry_delay, retry_cap, jitter, restartable, time_limit, max_unfinished, hooks
from turnabout.task where $1::text[] is null or name = any ($1) order by name
