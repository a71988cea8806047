-- Keeps what `reserve` tells, in the order in which executors are told: the number is drawn under the lock of the kind, which lasts
-- until the commit.
create table turnabout.told (
    n bigint generated always as identity primary key, executor uuid, want integer, place text, "left" integer, next_place text,
    next_left integer, complete boolean, groups text[]
);
alter function turnabout.reserve(uuid, integer, integer, boolean, text[], text[], text) rename to unwatched_reserve;
create function turnabout.reserve(
    me uuid, want integer, span integer, visits boolean, benched text[], limited text[], behind text,
    out alive boolean, out version bigint, out place text, out "left" integer, out next_place text, out next_left integer,
    out complete boolean, out groups text[], out lanes smallint[], out queues text[], out tasks text[],
    out firsts bigint[], out lasts bigint[]
) language plpgsql as $$
begin
    select r.alive, r.version, r.place, r."left", r.next_place, r.next_left, r.complete, r.groups, r.lanes, r.queues, r.tasks,
        r.firsts, r.lasts
    into alive, version, place, "left", next_place, next_left, complete, groups, lanes, queues, tasks,
        firsts, lasts
    from turnabout.unwatched_reserve(me, want, span, visits, benched, limited, behind) r;
    if me is not null and groups is not null then
        insert into turnabout.told values (default, me, want, place, "left", next_place, next_left, complete, groups);
    end if;
end
$$;
