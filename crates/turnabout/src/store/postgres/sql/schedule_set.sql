-- Stores schedules, new or changed, under the lock on schedule_event: nobody else makes one of the same key meanwhile.
insert into turnabout.schedule (id, "group", owner, name, task, declared_by, next, due, said, standing)
select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
    $8::timestamptz[], $9::text[], $10::text[])
on conflict (id) do update set task = excluded.task, declared_by = excluded.declared_by, next = excluded.next,
    due = excluded.due, said = excluded.said, standing = excluded.standing
