-- What an executor has ended since shortly before it was last heard of, so many at the most. By the time at which jobs ended
-- (job_history_finished); seldom.
-- $1 executor, $2 when that was, $3 how many.
select id from turnabout.job_history where finished > $2::timestamptz - interval '10 seconds' and executor = $1 limit $3
