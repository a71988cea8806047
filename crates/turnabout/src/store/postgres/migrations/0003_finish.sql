-- Finishing a job inside a transaction of its handler's: what the handler wrote and the job's success are one.

-- Places under caps that were given back inside handlers' transactions. Only added to there: an update of the counter
-- itself would fail at the stricter isolation levels, since others write it all the time. Folded into the counters soon
-- after by fold_freed.sql.
create table turnabout.freed (kind smallint not null, name text collate "C" not null);

-- Ends a job that is held by this claim and is not being cancelled. Says whether it did. What it becomes is for the
-- caller to say; `attempts` null: as recorded. By primary key. Writes nothing that others write meanwhile.
create function turnabout.end_within(job uuid, executor uuid, claim bigint, state smallint, attempts integer,
    result text, ran double precision, now timestamptz, keep boolean
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
        values (done.id, done.submitted, done.expires, coalesce(now - make_interval(secs => ran), done.started), now,
            done.executor, done.claim, done.parent, coalesce(attempts, done.attempts), done.interruptions, done.losses,
            done.items, state, done.priority, null, done.queue, done."group", done.task, done.owner, done.unique_key,
            done.args, done.meta, done.error, done.error_message, done.error_code, result, done.subject, done.prepared);
    end if;
    insert into turnabout.freed (kind, name)
    select c.kind, c.name from turnabout.cap c
    where (c.kind = 0 and c.name = done."group") or (c.kind = 1 and c.name = done.task);
    return true;
end
$$;

-- For handlers that bring a driver of their own: makes the job's success part of their transaction.
--   select turnabout.finish(job, claim)
-- Both come from the handler's context. An error (the job is being cancelled, or is no longer in these hands) means that
-- the transaction must be rolled back.
create function turnabout.finish(job uuid, claim text, result jsonb default null) returns void language plpgsql as $$
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
