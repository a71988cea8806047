-- What an executor has ended since shortly before it was last heard of, so many at the most. By the time at which jobs ended
-- (job_history_finished); seldom.
-- $1 executor, $2 how many.
select h.id
from (select seen - interval '10 seconds' as since from turnabout.executor where incarnation = $1) e
join turnabout.job_history h on h.finished > e.since and h.executor = $1
limit $2
