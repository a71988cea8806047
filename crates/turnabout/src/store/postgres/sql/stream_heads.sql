-- The streams of ready jobs in their order, and the first job of each. A loose scan of job_ready: one probe for each stream,
-- however many jobs it holds. Reads only.
-- $1 limit.
with recursive heads as (
    (select queue, "group", lane, task, seq, submitted, 1 as n from turnabout.job
    where executor is null and due is null and started is null
    order by queue, "group", lane, task, seq limit 1)
    union all
    select j.queue, j."group", j.lane, j.task, j.seq, j.submitted, h.n + 1 from heads h cross join lateral (
        select queue, "group", lane, task, seq, submitted from turnabout.job
        where executor is null and due is null and started is null
            and (queue, "group", lane, task) > (h.queue, h."group", h.lane, h.task)
        order by queue, "group", lane, task, seq limit 1
    ) j
    where h.n < $1
)
select queue, "group", lane, task, seq, submitted from heads order by n
