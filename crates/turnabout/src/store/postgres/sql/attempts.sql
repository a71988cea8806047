-- The attempts of a job that were not its last, oldest first. Walks the primary key.
select attempt, executor, claim, started, ended, reason, error, error_message, error_code,
    (select n.name from turnabout.executor_name n where n.incarnation = a.executor)
from turnabout.job_attempt a where job = $1 order by n
