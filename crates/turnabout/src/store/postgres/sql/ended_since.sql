-- Jobs that ended from one moment to another, up to a limit. Found by job_history_finished. Reads only.
-- $1 from, $2 until, $3 limit.
select "group", task, state, reason, extract(epoch from started - submitted)::float8,
    extract(epoch from finished - started)::float8, attempts, finished
from turnabout.job_history
where finished >= $1 and finished < $2
limit $3
