-- A job that ends inside its handler's transaction gives back a place under a cap that was made after that began.

-- As in 0003_finish.sql, but for the end. Ends a job that is held by this claim and is not being cancelled. Says whether it
-- did. What it becomes is for the caller to say; `attempts` null: as recorded. By primary key. Writes nothing that others
-- write meanwhile.
create or replace function turnabout.end_within(job uuid, executor uuid, claim bigint, state smallint, attempts integer,
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
    if current_setting('transaction_isolation') = 'read committed' then
        insert into turnabout.freed (kind, name)
        select c.kind, c.name from turnabout.cap c
        where (c.kind = 0 and c.name = done."group") or (c.kind = 1 and c.name = done.task);
    else
        -- What this transaction sees may be older than a cap that counts the job. Where there is none, nothing comes of it.
        insert into turnabout.freed (kind, name) values (0, done."group"), (1, done.task);
    end if;
    return true;
end
$$;
