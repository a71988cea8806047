-- Moves ended jobs back to the live ones, as new: counters reset, a new place at the end of the lane. The rows are
-- locked by lock_ended.sql. A unique key that is held meanwhile is an error, and nothing changes.
-- What ended it becomes one of its earlier attempts.
-- $1 ids, $2 state, $3 reason, $4 lanes, $5 numbers of the attempts that ended the jobs, $6 how many of a job are kept.
with back as (
    delete from turnabout.job_history h using unnest($1::uuid[]) as d (id) where h.id = any (array[d.id]) returning h.*
),
kept as (
    insert into turnabout.job_attempt (job, n, attempt, executor, claim, started, ended, reason, error, error_message,
        error_code)
    select b.id, coalesce((select max(a.n) from turnabout.job_attempt a where a.job = b.id), 0) + 1, l.attempt, b.executor,
        b.claim, b.started, b.finished, b.reason, case when b.reason is not null then b.error end,
        case when b.reason is not null then b.error_message end, case when b.reason is not null then b.error_code end
    from back b join unnest($1::uuid[], $5::int[]) as l (id, attempt) on l.id = b.id
    where b.started is not null and b.executor is not null
    returning job, n
),
surplus as (
    delete from turnabout.job_attempt a using kept k where a.job = any (array[k.job]) and a.n <= k.n - $6::int
),
live as (
    insert into turnabout.job as j (id, submitted, parent, items, state, reason, lane, priority, queue, "group", task, owner,
        unique_key, args, meta, subject, prepared, limited)
    select b.id, b.submitted, b.parent, b.items, $2, $3, l.lane, b.priority, b.queue, b."group", b.task, b.owner,
        b.unique_key, b.args, b.meta, b.subject, b.prepared,
        exists (select from turnabout.task t where t.name = b.task and t.max_unfinished is not null)
        or exists (select from turnabout.group_setting g where g.name in (b."group", '') and g.max_unfinished is not null)
        or not exists (select from turnabout.task t where t.name = b.task)
    from back b join unnest($1::uuid[], $4::smallint[]) with ordinality as l (id, lane, place) on l.id = b.id
    order by l.place
    returning j.queue, j."group", j.lane, j.task, j.seq
)
insert into turnabout.arrival (queue, "group", lane, task, first)
select queue, "group", lane, task, min(seq) from live group by queue, "group", lane, task
