-- Whether any job has waited past its expiry. Walks job_expiring, whose order keeps the plan from another index.
-- $1 now (null: the server's), $2 the state in which a job can expire.
select exists (
    select from turnabout.job
    where expires <= (select coalesce($1, clock_timestamp())) and started is null and executor is null and state = $2
    order by expires limit 1
)
