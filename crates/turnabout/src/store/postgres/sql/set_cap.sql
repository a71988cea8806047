-- Makes or changes a cap; it begins with the jobs that are held now. The caller has locked the job table against
-- claims and finishes, so that none is counted twice or missed. Goes by the holds, one job by one, and the primary key.
-- $1 kind, $2 name, $3 allowed (null: no cap).
with gone as (
    delete from turnabout.cap where kind = $1 and name = $2 and $3::int is null
)
insert into turnabout.cap (kind, name, allowed, running)
select $1, $2, $3, (
    select count(distinct j.id)
    from turnabout.hold h cross join unnest(h.jobs) as u (id) cross join lateral (
        select id, executor, claim, "group", task from turnabout.job where id = u.id offset 0
    ) j
    where j.executor = h.executor and j.claim = h.claim and case $1 when 0 then j."group" = $2 else j.task = $2 end
)
where $3::int is not null
on conflict (kind, name) do update set allowed = excluded.allowed, running = excluded.running
