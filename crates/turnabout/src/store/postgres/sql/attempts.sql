-- The attempts of a job that were not its last, oldest first. Walks the primary key.
select attempt, executor, claim, started, ended, reason, error, error_message, error_code
from turnabout.job_attempt where job = $1 order by n
