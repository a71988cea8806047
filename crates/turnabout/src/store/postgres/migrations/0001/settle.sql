-- What becomes of held jobs: finishing inside a handler's transaction, the short way to forget ended jobs, and holds. And of
-- those that wait: whether one has expired, when one is due.

-- Ends a job that is held by this claim and is not being cancelled. Says whether it did. What it becomes is for the caller to
-- say; `attempts` null: as recorded. By primary key. Writes nothing that others write meanwhile.
create function turnabout.end_within(job uuid, executor uuid, claim bigint, state smallint, attempts integer,
    result text, began timestamptz, now timestamptz, keep boolean
) returns boolean language plpgsql set enable_seqscan = off as $$
#variable_conflict use_variable
declare
    done turnabout.job;
begin
    delete from turnabout.job j
    where j.id = job and j.executor = end_within.executor and j.claim = end_within.claim and not j.cancelling
    returning j.* into done;
    if not found then
        return false;
    end if;
    now := coalesce(now, clock_timestamp());
    if keep then
        insert into turnabout.job_history (id, submitted, expires, started, finished, executor, claim, parent, attempts,
            interruptions, losses, items, state, priority, reason, queue, "group", task, owner, unique_key, args, meta,
            error, error_message, error_code, result, subject, prepared)
        values (done.id, done.submitted, done.expires, case when began is null then done.started else least(began, now) end, now,
            done.executor, done.claim, done.parent, coalesce(attempts, done.attempts), done.interruptions, done.losses,
            done.items, state, done.priority, null, done.queue, done."group", done.task, done.owner, done.unique_key,
            done.args, done.meta, done.error, done.error_message, done.error_code, result, done.subject, done.prepared);
    end if;
    if current_setting('transaction_isolation') = 'read committed' then
        insert into turnabout.freed (kind, name)
        select c.kind, c.name from turnabout.cap c where c.kind = 0 and c.name = done."group"
        union all
        select c.kind, c.name from turnabout.cap c where c.kind = 1 and c.name = done.task;
    else
        -- What this transaction sees may be older than a cap that counts the job. Where there is none, nothing comes of it.
        insert into turnabout.freed (kind, name) values (0, done."group"), (1, done.task);
    end if;
    return true;
end
$$;

-- Gives back the places that jobs had under the caps of these groups and tasks, one entry a job. Says whether there were any.
-- Rows of the counters are taken in the order of their names by everyone.
create function turnabout.give_back_places(groups text[], tasks text[]) returns boolean language plpgsql
set enable_seqscan = off as $$
declare
    n     record;
    freed boolean := false;
begin
    -- One by one: in whatever way the counters were joined with the names, a server that thinks that there are none could
    -- read them all.
    for n in
        select f.kind, f.name, count(*) as jobs from (
            select 0 as kind, g.name from unnest(groups) as g (name) union all
            select 1, t.name from unnest(tasks) as t (name)
        ) f group by f.kind, f.name order by f.kind, f.name collate "C"
    loop
        update turnabout.cap c set running = greatest(c.running - n.jobs, 0) where c.kind = n.kind and c.name = n.name;
        freed := freed or found;
    end loop;
    return freed;
end
$$;

-- For handlers that bring a driver of their own: makes the job's success part of their transaction.
--   select turnabout.finish(job, claim)
-- Both come from the handler's context. An error (the job is being cancelled, or is no longer in these hands) means that
-- the transaction must be rolled back.
create function turnabout.finish(job uuid, claim text, result jsonb default null) returns void language plpgsql
set enable_seqscan = off as $$
begin
    -- An old job's day may be gone.
    perform turnabout.ensure_day(to_timestamp(
        ('x' || lpad(replace(left(job::text, 13), '-', ''), 16, '0'))::bit(64)::bigint / 1000.0));
    -- 2 is running, 4 is success: what Event::Succeed makes of a running job (a test compares them).
    if not exists (select from turnabout.job j where j.id = job and j.state = 2)
        or not turnabout.end_within(job, split_part(claim, '/', 1)::uuid, split_part(claim, '/', 2)::bigint, 4::smallint,
            null, result::text, null, null, true) then
        raise exception 'job % is being cancelled, or is no longer held by this claim', job
            using errcode = 'object_not_in_prerequisite_state', hint = 'roll back, and return an error';
    end if;
end
$$;

-- Forgets jobs that an executor holds and that have ended, where ended jobs are not kept: all of them, or none. One
-- transaction, without a `begin`; the settings that keep plans from flipping are the function's. It is what nearly always
-- happens, and costs two thirds of what telling which were forgotten does (sql/forget.sql, which says that).
--
-- Nothing is forgotten where some are no longer held by that claim, or a cancel has come meanwhile, or there is a cap, whose
-- places have to be given back. A cap that someone is about to make waits for this, or is seen by it.
-- Walks the primary key, in the order of ids, in which everyone locks jobs.
create function turnabout.forget_all(me uuid, ids uuid[], claims bigint[], cancels boolean[]) returns boolean
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
    forgotten bigint;
begin
    delete from turnabout.job j using unnest(ids, claims, cancels) as d (id, claim, cancelling)
    where j.id = any (array[d.id]) and j.executor = me and j.claim = d.claim
        and j.cancelling = d.cancelling and not exists (select from turnabout.cap);
    get diagnostics forgotten = row_count;
    if forgotten < cardinality(ids) then
        raise exception 'not all of them' using errcode = 'TU001';
    end if;
    return true;
exception when sqlstate 'TU001' then
    return false;
end
$$;

-- What is in an executor's hands by these claims (null: by any), one job by one by the primary key, however large the server
-- thinks that the table is. Claims with a hold that is empty are told without a job.
create function turnabout.in_hand(me uuid, claims bigint[]) returns table (id uuid, claim bigint, cancelling boolean)
language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
    if claims is null then
        claims := array(select distinct h.claim from turnabout.hold h where h.executor = me);
    end if;
    return query
        select distinct j.id, c.number, j.cancelling
        from unnest(claims) as c (number) cross join lateral (
            select h.jobs from turnabout.hold h where h.executor = me and h.claim = c.number offset 0
        ) h
        left join lateral (
            select j.id, j.cancelling from unnest(h.jobs) as u (id) cross join lateral (
                select j.id, j.cancelling from turnabout.job j
                where j.id = u.id and j.executor = me and j.claim = c.number offset 0
            ) j
        ) j on true;
end
$$;

-- Holds that are empty go: of these claims, or (null) of all.
create function turnabout.sweep_holds(me uuid, claims bigint[]) returns void language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
begin
    delete from turnabout.hold h
    where h.executor = me and (claims is null or h.claim = any (claims)) and not exists (
        select from unnest(h.jobs) as u (id) join turnabout.job j on j.id = any (array[u.id])
        where j.executor = h.executor and j.claim = h.claim
        offset 0
    );
end
$$;

-- Whether any job has waited past its expiry. Walks job_expiring from its beginning, past jobs that were taken and have not
-- started. Every executor asks every few seconds.
create function turnabout.has_expired(now timestamptz, waiting smallint) returns boolean language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
    -- Not `exists`, which forgets the order.
    select (
        select true from turnabout.job
        where expires <= (select coalesce($1, clock_timestamp())) and started is null and executor is null and state = $2
        order by expires limit 1
    ) is not null
$$;

-- Seconds until the next parked job is due. The first entry of job_parked; `min` would read all of them where the server thinks
-- that there are none.
create function turnabout.next_due(now timestamptz) returns double precision language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
    select extract(epoch from due - coalesce($1, clock_timestamp()))::double precision
    from turnabout.job where due is not null order by due, seq limit 1
$$;
