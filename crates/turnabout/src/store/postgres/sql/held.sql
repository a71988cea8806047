-- What the store sees in an executor's hands. Walks job_held.
select id, claim, cancelling from turnabout.job where executor = $1
