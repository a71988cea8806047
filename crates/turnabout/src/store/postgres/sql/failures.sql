-- Jobs that failed, newest first, up to a limit: walks job_history_failed (or, for one group, job_history_failed_group),
-- which hold nothing else. Then those that are stuck, among the first parked ones: walks job_parked. Reads only.
-- $1 group, $2 owner (null: any), $3 since, $4 before then (null: now, and the stuck ones, too), $5 limit,
-- $6 characters of the error.
(select id, task, state, reason, error_code, coalesce(error_message, left(error, $6)), finished as at
from turnabout.job_history
where state = 5 and finished >= $3 and finished < coalesce($4::timestamptz, 'infinity')
    and ($1::text is null or "group" = $1) and ($2::text is null or owner = $2)
order by finished desc limit $5)
union all
select id, task, state, reason, error_code, coalesce(error_message, left(error, $6)), coalesce(started, submitted)
from (select * from turnabout.job where due is not null and $4::timestamptz is null order by due, seq limit $5) p
where state = 3 and ($1::text is null or "group" = $1) and ($2::text is null or owner = $2)
