-- Submits one job inside the transaction of another driver; see the function. $1: the job, as JSON.
select turnabout.submit_job($1::text::json)::text
