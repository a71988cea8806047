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
    elsif what like '% key' then
        -- Nobody's name.
        return;
    elsif name ~ '^[\s\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]|[\s\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$' then
        raise exception '% "%" begins or ends with a blank; write it without', what, name
            using errcode = 'invalid_parameter_value';
    elsif name ~ '[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]' then
        raise exception '% contains a sign that nobody can see; write it without', what
            using errcode = 'invalid_parameter_value';
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

-- How many unfinished jobs there are under a limit, counted up to it. No task: all of the group. Walks job_limited, and
-- is only called by those who have passed the gate.
create function turnabout.unfinished("group" text, task text, owner text, allowed integer) returns bigint
language plpgsql set enable_seqscan = off as $$
begin
    if task is null then
        return (select count(*) from (
            select from turnabout.job j where j.limited and j."group" = unfinished."group" limit allowed) j);
    end if;
    return (select count(*) from (
        select from turnabout.job j where j.limited and j."group" = unfinished."group" and j.task = unfinished.task
            and coalesce(j.owner, '') = coalesce(unfinished.owner, '') limit allowed) j);
end
$$;

-- How many tasks the unfinished jobs of a group have that nobody has published. Steps through job_limited from one task to the
-- next, so that it costs by the names and not by the jobs; only called by those who have passed the gate of the group.
create function turnabout.unknown_tasks("group" text) returns bigint
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    return (
        with recursive name as (
            (select j.task from turnabout.job j where j.limited and j."group" = unknown_tasks."group"
                order by j."group", j.task limit 1)
            union all
            select (select j.task from turnabout.job j where j.limited and j."group" = unknown_tasks."group"
                and j.task > n.task order by j."group", j.task limit 1)
            from name n where n.task is not null
        )
        select count(*) from name n where n.task is not null
            and not exists (select from turnabout.task t where t.name = n.task));
end
$$;

-- Stores one job; says which it is, and whether it is new. `max_unfinished` null: as the task's published settings say,
-- 0: any number. A job that would be one too many is not stored: `over` says under which limit, and `allowed` how many.
-- A task that nobody has published (docs/security.md): only where its name is new to the group, it passes the group's gate.
create function turnabout.try_submit(
    task text, args text, "group" text, owner text, queue text, priority text, delay interval, at timestamptz,
    expires interval, unique_key text, items integer, meta text, parent uuid, id uuid,
    subject text, prepared boolean, max_unfinished integer,
    out job uuid, out is_new boolean, out over text, out allowed integer
) language plpgsql set enable_seqscan = off as $$
#variable_conflict use_variable
declare
    moment   timestamptz := clock_timestamp();
    known_queue    text;
    known_priority smallint;
    of_owner integer;
    of_group integer;
    of_tasks integer;
    new_name boolean;
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
    select t.queue, t.priority, t.max_unfinished, nullif(coalesce(g.max_unfinished, a.max_unfinished), 2147483647),
        case when t.name is null then (select coalesce(
            (select s.max_unknown_tasks from turnabout.group_setting s where s.name = try_submit."group"),
            (select s.max_unknown_tasks from turnabout.group_setting s where s.name = ''), 1000)) end
    into known_queue, known_priority, of_owner, of_group, of_tasks
    from (values (true)) v (v) left join turnabout.task t on t.name = try_submit.task
        left join turnabout.group_setting g on g.name = try_submit."group" and g.max_unfinished is not null
        left join turnabout.group_setting a on a.name = '' and a.max_unfinished is not null;
    of_owner := coalesce(nullif(max_unfinished, 0), case when max_unfinished is null then of_owner end);
    urgency := coalesce(urgency, known_priority, 2);
    job := coalesce(id, turnabout.id_at(moment));

    -- One submit at a time under each limit (see gate.sql), so that nobody comes in between the count and the insert.
    new_name := of_tasks is not null and not exists (
        select from turnabout.job j where j.limited and j."group" = try_submit."group" and j.task = try_submit.task);
    if of_owner is not null or of_group is not null or new_name then
        insert into turnabout.gate as g ("group", task, owner, passed)
        select try_submit."group", d.task, d.owner, moment
        from (values ('', '', coalesce(of_group, case when new_name then of_tasks end)), (try_submit.task, coalesce(try_submit.owner, ''), of_owner)) d (task, owner, n)
        where d.n is not null order by d.task
        on conflict on constraint gate_pkey do update set passed = excluded.passed;
        if turnabout.unfinished("group", task, owner, of_owner) >= of_owner then
            allowed := of_owner;
            over := 'owner';
        elsif turnabout.unfinished("group", null, null, of_group) >= of_group then
            allowed := of_group;
            over := 'group';
        elsif new_name and turnabout.unknown_tasks("group") >= of_tasks and not exists (
            select from turnabout.job j where j.limited and j."group" = try_submit."group" and j.task = try_submit.task) then
            allowed := of_tasks;
            over := 'tasks';
        end if;
    end if;

    -- A key's holder may finish between the insert and the look at it: then there is room for a new job.
    for attempt in 1..100 loop
        insert into turnabout.job as j (id, submitted, due, expires, parent, items, lane, priority,
            queue, "group", task, owner, unique_key, args, meta, subject, prepared, limited)
        values (job, moment, case when start > moment then start end, moment + try_submit.expires, parent,
            items, urgency, urgency, coalesce(try_submit.queue, known_queue, 'default'), try_submit."group",
            try_submit.task, owner, unique_key, args, meta, subject, coalesce(prepared, false),
            of_owner is not null or of_group is not null or of_tasks is not null)
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
            if over is not null then
                delete from turnabout.job j where j.id = job;
                job := null;
                is_new := false;
                return;
            end if;
            if start > moment then
                -- What is due later is seen in time by the executors' heartbeats.
                perform pg_notify('turnabout', 'due') where start < moment + interval '10 seconds';
            else
                insert into turnabout.arrival (queue, "group", lane, task, first)
                select j.queue, j."group", j.lane, j.task, j.seq from turnabout.job j where j.id = job;
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
            over := null;
            return;
        end if;
        job := coalesce(id, turnabout.id_at(moment));
    end loop;
    over := null;
    if theirs is distinct from "group" then
        raise exception 'the job id is already in use; choose another' using errcode = 'unique_violation';
    end if;
    is_new := false;
end
$$;

-- The error of a job that is not stored, because a limit is reached.
create function turnabout.refuse(over text, allowed integer) returns void language plpgsql immutable as $$
begin
    if over = 'tasks' then
        raise exception 'no executor has published the task, and the group has unfinished jobs of % such tasks, which is its limit',
            allowed using errcode = 'configuration_limit_exceeded',
            hint = 'check the name of the task, start an executor that runs it, or cancel jobs of tasks that nobody runs';
    end if;
    raise exception 'the % has % unfinished jobs, which is its limit', over, allowed
        using errcode = 'configuration_limit_exceeded', hint = 'try again when some of them have ended';
end
$$;

-- With the rights of the schema's owner, so that whoever calls it needs none on the tables. The path is fixed: nobody's functions
-- or operators stand in for the server's.
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
    id         uuid default null,
    subject    text default null
) returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    stored record;
begin
    if task like 'webhook:%' or "group" = 'webhooks' or "group" like 'webhooks/%' then
        raise exception 'what webhooks are told is submitted by the server itself; choose another name'
            using errcode = 'invalid_parameter_value';
    elsif delay < interval '0' or expires <= interval '0' then
        raise exception 'delay and expires must not be negative, and expires not be zero'
            using errcode = 'invalid_parameter_value';
    elsif expires <= delay or clock_timestamp() + expires <= at then
        raise exception 'the job would expire before it may start; let it expire later than its delay'
            using errcode = 'invalid_parameter_value';
    elsif octet_length(args::text) > 1048576 then
        raise exception 'the arguments are larger than 1 MiB; store them elsewhere and pass a reference'
            using errcode = 'invalid_parameter_value';
    end if;
    perform turnabout.check_meta(meta);
    stored := turnabout.try_submit(task, args::text, "group", owner, queue, priority, delay, at, expires, unique_key,
        items, meta::text, parent, id, left(nullif(regexp_replace(subject, '[\x01-\x1f\x7f-\x9f]', ' ', 'g'), ''), 200),
        false, null);
    if stored.over is not null then
        perform turnabout.refuse(stored.over, stored.allowed);
    end if;
    return stored.job;
end
$$;

-- For drivers to which the library gives a statement and one parameter: the job as JSON (src/statement.rs), checked and
-- prepared already. `strict`: a job over a limit is an error, as for `submit`, and not only an outcome.
create function turnabout.submit_job(job json) returns json language plpgsql as $$
declare
    stored record;
begin
    select s.* into stored
    from json_to_record(submit_job.job) as d (
        id uuid, given integer, task text, args text, "group" text, owner text, queue text, priority text, delay float8,
        at float8, expires float8, unique_key text, items integer, meta text, parent uuid, subject text, prepared boolean,
        max_unfinished integer
    ) cross join lateral turnabout.try_submit(d.task, d.args, d."group", d.owner, d.queue, d.priority,
        d.delay * interval '1 second', timestamptz 'epoch' + d.at * interval '1 microsecond',
        d.expires * interval '1 second', d.unique_key, d.items, d.meta, d.parent, case when d.given > 0 then d.id end,
        d.subject, d.prepared, d.max_unfinished) s;
    if (job ->> 'strict')::boolean and stored.over is not null then
        perform turnabout.refuse(stored.over, stored.allowed);
    end if;
    return json_build_object('job', stored.job, 'allowed', stored.allowed,
        'outcome', coalesce(stored.over, case when stored.is_new then 'new' else 'known' end));
end
$$;

-- Stores jobs that are ready at once and have neither a given id nor a unique key. One call is a transaction of its own,
-- without a `begin`: the settings that keep plans from flipping are the function's. Nothing can be in its way: ids are new.
-- Queue and priority that the submitter did not say are as the task was published.
-- Jobs that come under a limit on unfinished jobs are left out, with all that were submitted by the same call, so that
-- those keep their order: if there are any, `stored` tells the others. So are jobs of tasks that nobody has published and of which
-- their group has none yet. Otherwise, where there is no limit at all, that costs a look at two empty indexes, and one at each task.
-- `at` null: the server's time. One entry a job, `calls`: which call it is of.
-- `idle`: an executor with nothing to do, which holds the jobs at once (`handed`), by this claim, if it serves their queues, is
-- still registered, nothing else is ready for it, and the settings are those `known`, by which nothing stands in the way.
create function turnabout.insert_plain(
    at timestamptz, ids uuid[], parents uuid[], items integer[], priorities smallint[], queues text[],
    groups text[], tasks text[], owners text[], args text[], meta text[], subjects text[], prepared boolean[],
    calls integer[], idle uuid, number bigint, taken smallint, idle_queues text[], known bigint,
    out stored uuid[], out handed boolean, out moment timestamptz, out seqs bigint[], out lanes smallint[]
) language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_variable
declare
    left_out integer[] := '{}';
    -- Tasks that nobody has published.
    unknown  text[] := array(
        select d.task from (select distinct u.task from unnest(tasks) u (task)) d
        where not exists (select from turnabout.task t where t.name = d.task));
begin
    moment := coalesce(at, clock_timestamp());
    handed := false;
    if unknown <> '{}' or exists (select from turnabout.group_setting g where g.max_unfinished is not null)
        or exists (select from turnabout.task t where t.max_unfinished is not null) then
        left_out := array(
            select c.call from unnest(groups, tasks, calls) as c ("group", task, call)
            where coalesce((select g.max_unfinished from turnabout.group_setting g where g.name = c."group"),
                    (select g.max_unfinished from turnabout.group_setting g where g.name = '')) < 2147483647
                or (select t.max_unfinished from turnabout.task t where t.name = c.task) is not null
                -- Its name is new to the group: it is to be counted.
                or c.task = any (unknown) and not exists (
                    select from turnabout.job j where j.limited and j."group" = c."group" and j.task = c.task)
        );
    elsif idle is not null then
        perform from turnabout.executor e where e.incarnation = idle for key share;
        if found then
            -- As a claim does (take.sql).
            lock table turnabout.job in row exclusive mode;
            handed := exists (select from turnabout.settings s where s.version = known) and not turnabout.is_ready(
                (select e.kind from turnabout.executor e where e.incarnation = idle)
            ) and not exists (
                select from unnest(queues, tasks) as d (queue, task)
                left join lateral (select t.queue from turnabout.task t where t.name = d.task offset 0) t on true
                where coalesce(d.queue, t.queue, 'default') <> all (idle_queues)
            );
        end if;
    end if;
    with job as (
        insert into turnabout.job as j (id, submitted, parent, items, lane, priority, queue, "group", task, owner, args,
            meta, subject, prepared, executor, claim, state, limited)
        select d.id, moment, d.parent, d.items, coalesce(d.priority, t.priority, 2), coalesce(d.priority, t.priority, 2),
            coalesce(d.queue, t.queue, 'default'), d."group", d.task, d.owner, d.args, d.meta, d.subject, d.prepared,
            case when handed then idle end, case when handed then number end, case when handed then taken else 0 end, d.task = any (unknown)
        from unnest(ids, parents, items, priorities, queues, groups, tasks, owners, args, meta, subjects, prepared, calls)
            as d (id, parent, items, priority, queue, "group", task, owner, args, meta, subject, prepared, call)
        left join lateral (select t.queue, t.priority from turnabout.task t where t.name = d.task offset 0) t on true
        where d.call <> all (left_out)
        returning j.id, j.queue, j."group", j.lane, j.task, j.seq
    ),
    arrived as (
        insert into turnabout.arrival (queue, "group", lane, task, first)
        select j.queue, j."group", j.lane, j.task, min(j.seq) from job j
        where not handed group by j.queue, j."group", j.lane, j.task
    )
    select coalesce(array_agg(j.id), '{}'), array_agg(j.seq), array_agg(j.lane) into stored, seqs, lanes from job j;
    if handed then
        insert into turnabout.hold (executor, claim, jobs) values (idle, number, ids);
    elsif left_out = '{}' then
        stored := null;
    end if;
end
$$;

-- Jobs as people read them: unfinished and ended ones, with words in place of codes.
create view turnabout.jobs as
    select id, task, "group", owner, queue, subject, (array['high', 'normal', 'low'])[priority] as priority,
        (array['waiting', 'scheduled', 'running', 'stuck', 'success', 'failed', 'cancelled'])[state + 1] as state,
        cancelling, items, attempts, submitted, due, started, null::timestamptz as finished,
        coalesce((select p.percent from turnabout.progress p
            where p.job = j.id and p.executor = j.executor and p.claim = j.claim), 0) as progress,
        args::json as args, error, error_message, error_code, null::json as result
    from turnabout.job j
    union all
    select id, task, "group", owner, queue, subject, (array['high', 'normal', 'low'])[priority],
        (array['waiting', 'scheduled', 'running', 'stuck', 'success', 'failed', 'cancelled'])[state + 1],
        false, items, attempts, submitted, null, started, finished, case state when 4 then 100 else 0 end, args::json,
        error, error_message, error_code, result::json
    from turnabout.job_history;
