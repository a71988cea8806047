-- Submitting by plain SQL, in any language, inside the caller's own transaction:
--   select turnabout.submit(task => 'mail', args => '{}', "group" => 'acme')
-- Returns the id of the job: the new one, or the one that had the id or the unique key already.

create function turnabout.check_name(what text, name text) returns void language plpgsql immutable as $$
begin
    if name = '' then
        raise exception '% is empty; give it a name', what using errcode = 'invalid_parameter_value';
    elsif octet_length(name) > 200 then
        raise exception '% is longer than 200 bytes', what using errcode = 'invalid_parameter_value';
    elsif name ~ '[\x01-\x1f\x7f-\x9f]' then
        raise exception '% contains a control character', what using errcode = 'invalid_parameter_value';
    end if;
end
$$;

-- A small map of texts. Whoever takes the job reads it as one, so nothing else may be stored.
create function turnabout.check_meta(meta jsonb) returns void language plpgsql immutable as $$
begin
    if jsonb_typeof(meta) <> 'object' then
        raise exception 'meta must be an object whose values are texts' using errcode = 'invalid_parameter_value';
    elsif exists (select from jsonb_each(meta) e where jsonb_typeof(e.value) <> 'string') then
        raise exception 'meta must be an object whose values are texts' using errcode = 'invalid_parameter_value';
    end if;
    perform turnabout.check_name('meta key', e.key) from jsonb_each(meta) e;
    if (select count(*) > 32 or sum(octet_length(e.key) + octet_length(e.value)) > 4096
        from jsonb_each_text(meta) e) then
        raise exception 'meta is too large; at most 32 entries and 4096 bytes are allowed'
            using errcode = 'invalid_parameter_value';
    end if;
end
$$;

-- Stores one job; says which it is, and whether it is new.
create function turnabout.try_submit(
    task text, args text, "group" text, owner text, queue text, priority text, delay interval, at timestamptz,
    expires interval, unique_key text, items integer, meta text, parent uuid, id uuid,
    out job uuid, out is_new boolean
) language plpgsql as $$
#variable_conflict use_variable
declare
    moment   timestamptz := clock_timestamp();
    known    turnabout.task;
    urgency  smallint;
    start    timestamptz := coalesce(try_submit.at, moment + try_submit.delay);
    theirs   text;
begin
    perform turnabout.check_name('task', task), turnabout.check_name('group', "group"),
            turnabout.check_name('owner', owner), turnabout.check_name('queue', queue),
            turnabout.check_name('unique key', unique_key);
    if task is null or "group" is null or args is null then
        raise exception 'task, group and args must not be null' using errcode = 'invalid_parameter_value';
    end if;
    if "group" ~ '(^/|/$|//)' then
        raise exception 'group "%" begins or ends with a slash, or has an empty part', "group"
            using errcode = 'invalid_parameter_value';
    end if;
    if items is null or items < 1 then
        raise exception 'items must be at least 1' using errcode = 'invalid_parameter_value';
    end if;
    -- Clocks of other languages end there (and an infinite moment is none at all).
    if start >= '9999-01-01Z' or moment + expires >= '9999-01-01Z' then
        raise exception 'at, delay and expires must lie before the year 9999'
            using errcode = 'invalid_parameter_value';
    end if;
    urgency := case priority when 'high' then 1 when 'normal' then 2 when 'low' then 3 end;
    if priority is not null and urgency is null then
        raise exception 'priority "%" is none of high, normal, low', priority
            using errcode = 'invalid_parameter_value';
    end if;
    if id is not null and (substr(id::text, 15, 1) <> '7'
        or id < turnabout.id_floor(moment - interval '7 days')
        or id > turnabout.id_floor(moment + interval '1 day')) and not exists (
            select from turnabout.job j where j.id = try_submit.id union all
            select from turnabout.job_history h where h.id = try_submit.id) then
        raise exception 'a given id must be a UUID of version 7, made within the last 7 days'
            using errcode = 'invalid_parameter_value';
    end if;
    select t.* into known from turnabout.task t where t.name = try_submit.task;
    urgency := coalesce(urgency, known.priority, 2);
    job := coalesce(id, turnabout.id_at(moment));

    -- Under the lock of all who make jobs ready, and before a place in a lane is drawn (see sql/lock_ring.sql).
    perform pg_advisory_xact_lock_shared(hashtext('turnabout'), 1);
    -- A key's holder may finish between the insert and the look at it: then there is room for a new job.
    for attempt in 1..100 loop
        insert into turnabout.job as j (id, submitted, due, expires, parent, items, lane, priority,
            queue, "group", task, owner, unique_key, args, meta)
        values (job, moment, case when start > moment then start end, moment + try_submit.expires, parent,
            items, urgency, urgency, coalesce(try_submit.queue, known.queue, 'default'), try_submit."group",
            try_submit.task, owner, unique_key, args, meta)
        on conflict do nothing;
        if found then
            -- A given id may name a job that has ended.
            if id is not null then
                select h."group" into theirs from turnabout.job_history h where h.id = job;
                if found then
                    delete from turnabout.job j where j.id = job;
                    exit;
                end if;
            end if;
            if start > moment then
                -- What is due later is seen in time by the executors' heartbeats.
                perform pg_notify('turnabout', 'due') where start < moment + interval '10 seconds';
            else
                perform turnabout.wake();
            end if;
            is_new := true;
            return;
        end if;
        if id is not null then
            select j."group" into theirs from turnabout.job j where j.id = job;
            exit when found;
        end if;
        select j.id, false into job, is_new from turnabout.job j where j."group" = try_submit."group"
            and j.task = try_submit.task and j.unique_key = try_submit.unique_key;
        if found then
            return;
        end if;
        job := coalesce(id, turnabout.id_at(moment));
    end loop;
    if theirs is distinct from "group" then
        raise exception 'the job id is already in use; choose another' using errcode = 'unique_violation';
    end if;
    is_new := false;
end
$$;

create function turnabout.submit(
    task       text,
    args       jsonb default '{}',
    "group"    text default 'default',
    owner      text default null,
    queue      text default null,
    priority   text default null,
    delay      interval default null,
    at         timestamptz default null,
    expires    interval default null,
    unique_key text default null,
    items      integer default 1,
    meta       jsonb default null,
    parent     uuid default null,
    id         uuid default null
) returns uuid language plpgsql as $$
begin
    if octet_length(args::text) > 1048576 then
        raise exception 'the arguments are larger than 1 MiB; store them elsewhere and pass a reference'
            using errcode = 'invalid_parameter_value';
    end if;
    perform turnabout.check_meta(meta);
    return (turnabout.try_submit(task, args::text, "group", owner, queue, priority, delay, at, expires, unique_key,
        items, meta::text, parent, id)).job;
end
$$;

-- Jobs as people read them: unfinished and ended ones, with words in place of codes.
create view turnabout.jobs as
    select id, task, "group", owner, queue, (array['high', 'normal', 'low'])[priority] as priority,
        (array['waiting', 'scheduled', 'running', 'stuck', 'success', 'failed', 'cancelled'])[state + 1] as state,
        cancelling, items, attempts, submitted, due, started, null::timestamptz as finished,
        coalesce((select p.percent from turnabout.progress p
            where p.job = j.id and p.executor = j.executor and p.claim = j.claim), 0) as progress,
        args::json as args, error, error_message, error_code, null::json as result
    from turnabout.job j
    union all
    select id, task, "group", owner, queue, (array['high', 'normal', 'low'])[priority],
        (array['waiting', 'scheduled', 'running', 'stuck', 'success', 'failed', 'cancelled'])[state + 1],
        false, items, attempts, submitted, null, started, finished, case state when 4 then 100 else 0 end, args::json,
        error, error_message, error_code, result::json
    from turnabout.job_history;
