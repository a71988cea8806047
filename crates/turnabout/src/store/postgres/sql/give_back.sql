-- Gives jobs back: into their lane, or parked until later. By primary key, behind the same fence as finish.sql.
-- $1 executor, $2 now (null: the server's); then one entry a job. `lane` null: parked for `delay` seconds from now;
-- with neither: it stays parked as it is. `fresh`: a new place at the end of the lane. $17 and $18 are empty where no
-- task described an error. Attempts with a number ($19; empty: none) are kept in their own table, $20 of a job.
-- Places are drawn before rows are looked for, so that jobs get them in the order in which they were given, whatever the
-- plan. Ready jobs are announced, and the streams that jobs leave which nobody holds.
with given as materialized (
    select d.*, case when d.fresh then nextval('turnabout.job_seq') end as place
    from unnest($3::uuid[], $4::bigint[], $5::boolean[], $6::smallint[], $7::smallint[], $8::smallint[], $9::int[],
        $10::int[], $11::int[], $12::smallint[], $13::text[], $14::double precision[], $15::timestamptz[],
        $16::boolean[], $17::text[], $18::text[], $19::int[])
        as d (id, claim, cancelling, state, reason, lane, attempts, interruptions, losses, priority, error, delay,
            began, fresh, message, code, attempt)
),
back as (
    update turnabout.job j
    set state = d.state, reason = d.reason, lane = coalesce(d.lane, j.lane), attempts = d.attempts,
        interruptions = d.interruptions,
        losses = d.losses, priority = d.priority, executor = null, claim = null, cancelling = false,
        error = coalesce(d.error, j.error),
        error_message = case when d.error is null then j.error_message else d.message end,
        error_code = case when d.error is null then j.error_code else d.code end,
        started = null,
        due = case
            when d.lane is not null then null
            when d.delay is not null then coalesce($2, clock_timestamp()) + make_interval(secs => d.delay)
            else j.due
        end,
        seq = coalesce(d.place, j.seq)
    from given d
    where j.id = any (array[d.id]) and j.executor is not distinct from $1 and j.claim is not distinct from d.claim
        and j.cancelling = d.cancelling
    returning j.id, j.queue, j."group", j.lane, j.task, j.seq, j.due, d.claim, d.attempt, d.reason, d.error, d.message,
        d.code, d.began
),
arrived as (
    insert into turnabout.arrival (queue, "group", lane, task, first)
    select queue, "group", lane, task, min(seq) from back where due is null group by queue, "group", lane, task
),
left_behind as (
    insert into turnabout.arrival (queue, "group", lane, task)
    select distinct j.queue, j."group", j.lane, j.task from given d join turnabout.job j on j.id = any (array[d.id])
    where $1 is null and j.executor is null and j.due is null
),
kept as (
    insert into turnabout.job_attempt (job, n, attempt, executor, claim, started, ended, reason, error, error_message,
        error_code)
    select b.id, coalesce((select max(a.n) from turnabout.job_attempt a where a.job = b.id), 0) + 1, b.attempt, $1, b.claim,
        least(b.began, t.now), t.now, b.reason, b.error, b.message, b.code
    from back b, (select coalesce($2, clock_timestamp()) as now) t
    where b.attempt is not null and b.began is not null
    returning job, n
),
surplus as (
    delete from turnabout.job_attempt a using kept k where a.job = any (array[k.job]) and a.n <= k.n - $20::int
),
freed as materialized (
    select $1 is not null and exists (select from turnabout.cap) and turnabout.give_back_places(
        (select array_agg("group") from back), (select array_agg(task) from back)
    ) as freed
)
select id, (select freed from freed) as freed from back
