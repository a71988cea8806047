-- A take: `reserve` says whose turn it is and which streams those groups have, `claim` takes jobs from streams. Between the
-- two, `turn.rs` decides how many come from which lane. Each is a transaction of its own, unless caps are locked.
-- No bitmap scans: where the server thinks that a stream is short, it would read all of it, and sort, for its first job.

-- Closes those streams of a kind that are said to be empty since `seen`, and are. The others begin with their first job, and end
-- with their last. What arrivals tell has been filed before, so what is not visible yet opens a stream again. The caller has
-- locked the kind. Says how many rows it has written.
create function turnabout.close_streams(k turnabout.kind, of_gen bigint, seen pg_snapshot) returns bigint language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    written bigint;
begin
    with said as materialized (
        select distinct a.queue, a."group", a.lane, a.task from (
            select * from turnabout.arrival a where a.tx >= pg_snapshot_xmax(seen)
            union all
            select * from turnabout.arrival a where a.tx = any (array(select pg_snapshot_xip(seen)))
        ) a
        where a.first is null and a.queue = any (k.queues) and a.task = any (k.tasks)
    ),
    looked as materialized (
        select s.*, (
            select j.seq from turnabout.job j
            where j.queue = s.queue and j."group" = s."group" and j.lane = s.lane and j.task = s.task
                and j.seq >= s.first and j.executor is null and j.due is null and j.started is null
            order by j.seq limit 1
        ) as head
        from said a cross join lateral (
            select s.ctid as spot, s.* from turnabout.stream s where s.kind = k.id and s.gen = of_gen
                and s."group" = a."group" and s.lane = a.lane and s.queue = a.queue and s.task = a.task offset 0
        ) s
    ),
    closed as (
        delete from turnabout.stream s where s.ctid = any (array(select l.spot from looked l where l.head is null))
        returning 1
    ),
    moved as (
        update turnabout.stream s set first = l.head, last = (
            select j.seq from turnabout.job j
            where j.queue = l.queue and j."group" = l."group" and j.lane = l.lane and j.task = l.task
                and j.seq >= l.head and j.executor is null and j.due is null and j.started is null
            order by j.seq desc limit 1
        )
        from looked l where l.head is not null and s.ctid = l.spot
        returning 1
    )
    select (select count(*) from closed) + (select count(*) from moved) into written;
    return written;
end
$$;

-- The turns of one take. All executors of a kind do this one after the other; nothing else do they have to wait for.
-- Writes nothing where nothing is ready. Without `alive` the executor is not registered any longer. For nobody (null) nothing
-- happens, but that what follows is planned when it matters: under the lock it would take as long as a hundred takes.
-- `visits`: jobs are counted, so that the place in the ring moves on as Turns::rotate says (turn.rs). Otherwise turns go by what
-- groups have cost, and the place only settles ties; it moves on by a group for each job wanted, `behind` which name is
-- told by the caller who has found that the groups up to there have had enough.
-- `limited`: tasks that have a limit. Streams are told with their `first` and `last`; nobody looks whether they have jobs.
create function turnabout.reserve(
    me uuid, want integer, span integer, visits boolean, benched text[], limited text[], behind text,
    out alive boolean, out version bigint, out place text, out "left" integer, out next_place text, out next_left integer,
    out complete boolean, out groups text[], out lanes smallint[], out queues text[], out tasks text[],
    out firsts bigint[], out lasts bigint[]
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    of_kind integer;
    k       turnabout.kind;
    r       turnabout.ring;    -- as it is
    was     turnabout.ring;
    ready   boolean;
    came    bigint;
    noted   bigint;
    opened  bigint;
    start   text;
    most    integer;
    total   integer;
    ranks   integer[];
    seen    integer;
    wanted  integer := want;
    weight  integer;
    visit   integer;
    at      integer := 1;
begin
    -- Nothing to do is seen without the lock.
    select e.kind, c.place, c."left", turnabout.is_ready(e.kind), s.version into of_kind, place, "left", ready, version
    from turnabout.executor e cross join turnabout.settings s
    left join lateral (select * from turnabout.ring x where x.kind = e.kind order by x.n desc limit 1) c on true
    where e.incarnation = me;
    alive := found;
    complete := true;
    next_place := place;
    next_left := "left";
    if me is not null and (not alive or not ready) then
        return;
    end if;
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'jobs can only be taken at the isolation level read committed'
            using hint = 'alter role .. set default_transaction_isolation = ''read committed''';
    end if;
    -- A crash of the server may undo a few visits.
    perform set_config('synchronous_commit', 'off', true);

    -- From here on one executor at a time; each statement sees what those before have committed.
    select * into k from turnabout.kind where id = of_kind for update;
    select * into r from turnabout.ring x where x.kind = of_kind order by x.n desc limit 1;
    if me is null then
        r := row(0, 0, '', 0, pg_current_snapshot(), 0, 0, 0, 0)::turnabout.ring;
    elsif r.n is null then
        alive := false;
        return;
    end if;
    was := r;
    select s.version into version from turnabout.settings s;
    if version <> r.version then
        delete from turnabout.stream s where s.kind = r.kind and s.gen = r.gen and turnabout.is_paused(s.queue, s."group", s.task);
        r.version := version;
    end if;

    -- Files what has become visible since: all later transactions, and those that were under way then.
    with fresh as (
        select a.queue, a."group", a.lane, a.task, a.first from turnabout.arrival a
        where a.tx >= pg_snapshot_xmax(was.seen)
        union all
        select a.queue, a."group", a.lane, a.task, a.first from turnabout.arrival a
        where a.tx = any (array(select pg_snapshot_xip(was.seen)))
    ),
    filed as (
        insert into turnabout.stream as s (kind, gen, "group", lane, queue, task, first, last)
        select r.kind, r.gen, f."group", f.lane, f.queue, f.task, min(f.first), max(f.first) from fresh f
        where f.first is not null and f.queue = any (k.queues) and f.task = any (k.tasks)
            and (select g.paused from turnabout.group_setting g where g.name = f."group") is not true
            and (select t.paused from turnabout.task_limit t where t.name = f.task) is not true
            and f.queue <> all (array(select q.name from turnabout.queue_setting q where q.paused))
            and not (select x.paused from turnabout.settings x)
        group by f."group", f.lane, f.queue, f.task
        on conflict (kind, gen, "group", lane, queue, task) do update set first = excluded.first
            where s.first > excluded.first
        returning 1
    )
    select pg_current_snapshot(), (select count(*) from fresh), (select count(*) from fresh f where f.first is null),
        (select count(*) from filed)
    into r.seen, came, noted, opened;
    if noted > 0 then
        opened := opened + turnabout.close_streams(k, r.gen, was.seen);
    end if;

    -- A new generation leaves behind what is dead of the old one, and what is dead at the beginning of each stream.
    r.worn := r.worn + opened + want;
    if r.worn > 2000 + 8 * r.live then
        insert into turnabout.stream (kind, gen, "group", lane, queue, task, first, last)
        select s.kind, s.gen + 1, s."group", s.lane, s.queue, s.task, coalesce((
                select j.seq from turnabout.job j
                where j.queue = s.queue and j."group" = s."group" and j.lane = s.lane and j.task = s.task
                    and j.seq >= s.first and j.seq <= s.last
                    and j.executor is null and j.due is null and j.started is null
                order by j.seq limit 1
            ), s.first), s.last
        from turnabout.stream s where s.kind = r.kind and s.gen = r.gen;
        get diagnostics r.live = row_count;
        delete from turnabout.stream s where s.kind = r.kind and s.gen = r.gen;
        r.gen := r.gen + 1;
        r.worn := 0;
    end if;

    -- The streams of the next groups, from the place once round. All streams of a group, or none.
    if behind is not null then
        r.place := behind;
        r."left" := 0;
    end if;
    place := r.place;
    "left" := r."left";
    -- Names have no control characters, so this is the lowest name after the place.
    start := case when r."left" > 0 then r.place else r.place || chr(1) end;
    most := span + span / 8 + 4;
    loop
        with walked as materialized (
            (select 0 as wrap, s.* from turnabout.stream s
            where s.kind = r.kind and s.gen = r.gen and s."group" >= start and s."group" <> all (benched)
            order by s."group", s.lane, s.queue, s.task limit most)
            union all
            (select 1, s.* from turnabout.stream s
            where s.kind = r.kind and s.gen = r.gen and s."group" < start and s."group" <> all (benched)
            order by s."group", s.lane, s.queue, s.task limit most)
            limit most
        ),
        ranked as (
            select w.*, dense_rank() over (order by w.wrap, w."group")::integer as rank from walked w
        )
        select array_agg(w."group"), array_agg(w.lane), array_agg(w.queue), array_agg(w.task), array_agg(w.first),
            array_agg(w.last), array_agg(w.rank), coalesce(max(w.rank), 0), count(*)
        into groups, lanes, queues, tasks, firsts, lasts, ranks, seen, total
        from ranked w;
        complete := seen <= span and total < most;
        exit when seen > span or total < most;
        most := most * 2;
    end loop;
    if seen > span then
        total := array_position(ranks, span + 1) - 1;
        groups := groups[:total];
        lanes := lanes[:total];
        queues := queues[:total];
        tasks := tasks[:total];
        firsts := firsts[:total];
        lasts := lasts[:total];
        ranks := ranks[:total];
        seen := span;
    end if;

    -- Where the place is after so many jobs.
    if seen > 0 and (not visits
        or r."left" = 0 and not exists (select from turnabout.group_setting g where g.weight > 1)) then
        at := case when seen >= want then want when complete then (want - 1) % seen + 1 else seen end;
        r.place := groups[array_position(ranks, at)];
        r."left" := 0;
    elsif seen > 0 then
        -- The rest of a visit, then whole ones.
        visit := case when r."left" > 0 and groups[1] = r.place then r."left" end;
        while wanted > 0 loop
            r.place := groups[array_position(ranks, at)];
            weight := coalesce((select g.weight from turnabout.group_setting g where g.name = r.place),
                (select g.weight from turnabout.group_setting g where g.name = ''), 1);
            visit := least(coalesce(visit, weight), weight);
            r."left" := greatest(visit - wanted, 0);
            wanted := wanted - visit;
            visit := null;
            at := at % seen + 1;
            exit when at = 1 and not complete;
        end loop;
        if limited <> '{}' and not exists (
            select from unnest(groups, tasks) as s ("group", task) where s."group" = r.place and s.task <> all (limited)
        ) then
            r."left" := 0;
        end if;
    end if;
    next_place := r.place;
    next_left := r."left";
    if me is not null and (came > 0 or seen > 0 or version <> was.version or r.gen <> was.gen) then
        r.n := r.n + 1;
        insert into turnabout.ring values (r.*);
        if r.n % 64 = 0 then
            delete from turnabout.ring x where x.kind = r.kind and x.n > r.n - 256 and x.n < r.n - 64;
        end if;
    end if;
end
$$;

-- Takes the first jobs of streams, those with the lowest `seq`, and tells them. Walks job_ready. Rows that another claim has
-- just locked are skipped. Takes nothing for an executor that is not registered any longer (one that is cannot be reaped before
-- this commits), nor by settings that are not those `known` any longer.
-- One entry a stream: which pick it is of, how many jobs that wants, whether it has several streams, the stream, the `seq` with
-- which to begin, the one after which there may be none, and how many at most. Of several streams the lowest `seq`s of all are
-- taken. Says of which streams it may have taken the last job.
create function turnabout.claim(
    me uuid, number bigint, taken smallint, why smallint, known bigint, picks integer[], wanted integer[], several boolean[],
    queues text[], groups text[], lanes smallint[], tasks text[], firsts bigint[], lasts bigint[], mosts integer[]
) returns table (
    id uuid, lane smallint, seq bigint, queue text, task text, "group" text, owner text, priority smallint, args text,
    items integer, meta text, parent uuid, submitted timestamptz, attempts integer, interruptions integer, losses integer,
    prepared boolean
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    places tid[];
    ids    uuid[];
    n      record;
begin
    perform from turnabout.executor e where e.incarnation = me for key share;
    if not found then
        return;
    end if;
    -- Whoever makes a cap has the table until it is there; then the settings are other ones.
    lock table turnabout.job in row exclusive mode;
    if not exists (select from turnabout.settings s where s.version = known) then
        return;
    end if;
    with stream as materialized (
        select * from unnest(picks, wanted, several, queues, groups, lanes, tasks, firsts, lasts, mosts)
            as s (pick, wanted, several, queue, "group", lane, task, first, last, most)
    ),
    part as materialized (
        select h.queue, h."group", h.lane, h.task, h.first, h.last, count(h.seq) filter (where h.rank <= h.wanted) as jobs,
            count(h.seq) as found
        from (
            select s.*, j.seq, row_number() over (partition by s.pick order by j.seq) as rank
            from stream s left join lateral (
                select j.seq from turnabout.job j
                where j.queue = s.queue and j."group" = s."group" and j.lane = s.lane and j.task = s.task
                    and j.seq >= s.first and j.executor is null and j.due is null and j.started is null
                order by j.seq limit s.most
            ) j on true
            where s.several
        ) h
        group by h.queue, h."group", h.lane, h.task, h.first, h.last
    ),
    chosen as materialized (
        select s.*, j.place, j.id, j.seq
        from (
            select s.queue, s."group", s.lane, s.task, s.first, s.last, s.most::bigint as jobs, 1::bigint as found
            from stream s where not s.several
            union all
            select * from part
        ) s
        left join lateral (
            select j.ctid as place, j.id, j.seq from turnabout.job j
            where j.queue = s.queue and j."group" = s."group" and j.lane = s.lane and j.task = s.task
                and j.seq >= s.first and j.executor is null and j.due is null and j.started is null
            order by j.seq limit s.jobs
            for update skip locked
        ) j on true
    ),
    noted as (
        insert into turnabout.arrival (queue, "group", lane, task)
        select c.queue, c."group", c.lane, c.task from chosen c
        group by c.queue, c."group", c.lane, c.task, c.jobs, c.last
        having count(c.seq) < c.jobs or max(c.seq) >= c.last or max(c.found) = 0
    )
    select array_agg(c.place), array_agg(c.id) into places, ids from chosen c where c.place is not null;
    if ids is null then
        return;
    end if;
    insert into turnabout.hold (executor, claim, jobs) values (me, number, ids);
    if exists (select from turnabout.cap) then
        -- One by one, as they are given back (settle.sql).
        for n in
            select x.kind, x.name, count(*) as jobs
            from turnabout.job j cross join lateral (values (0, j."group"), (1, j.task)) as x (kind, name)
            where j.ctid = any (places) group by x.kind, x.name order by x.kind, x.name
        loop
            update turnabout.cap c set running = c.running + n.jobs where c.kind = n.kind and c.name = n.name;
        end loop;
    end if;
    -- The rows are locked, so they are where they were: no second walk of an index.
    return query
        update turnabout.job j set executor = me, claim = number, state = taken, reason = why
        where j.ctid = any (places)
        returning j.id, j.lane, j.seq, j.queue, j.task, j."group", j.owner, j.priority, j.args, j.items, j.meta,
            j.parent, j.submitted, j.attempts, j.interruptions, j.losses, j.prepared;
end
$$;
