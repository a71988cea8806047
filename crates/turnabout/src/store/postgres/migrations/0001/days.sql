-- Ids and days: history, logs and attempts have a partition for each day of job ids.

-- The lowest id made at a moment: the bounds of a day.
create function turnabout.id_floor(moment timestamptz) returns uuid language sql immutable parallel safe as $$
    select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- A new id made at a moment.
create function turnabout.id_at(moment timestamptz) returns uuid language sql volatile as $$
    select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0')
        || '7' || substr(r, 14, 3) || substr('89ab', 1 + floor(random() * 4)::int, 1) || substr(r, 18, 15))::uuid
    from (select replace(gen_random_uuid()::text, '-', '')) as random(r)
$$;

-- Makes a table's partition for the day of a moment, if it is missing. Attaching does not block those who write.
create function turnabout.ensure_day(moment timestamptz, kept text default 'job_history') returns void
language plpgsql as $$
declare
    day  timestamptz := date_trunc('day', moment, 'UTC');
    part text := kept || '_' || to_char(day at time zone 'UTC', 'YYYYMMDD');
begin
    if to_regclass(format('turnabout.%I', part)) is not null then
        return;
    end if;
    -- Two who find it missing at once: the second waits and sees it.
    perform pg_advisory_xact_lock(hashtext('turnabout.ensure_day'));
    -- By a query: to_regclass may remember that there was none.
    if exists (select from pg_class c where c.relnamespace = 'turnabout'::regnamespace and c.relname = part) then
        return;
    end if;
    execute format('create table turnabout.%I (like turnabout.%I including all)', part, kept);
    execute format('alter table turnabout.%I attach partition turnabout.%I for values from (%L) to (%L)',
        kept, part, turnabout.id_floor(day), turnabout.id_floor(day + interval '1 day'));
end
$$;
