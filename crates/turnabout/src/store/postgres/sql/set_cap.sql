-- Makes a cap, which begins with the jobs that are held now, or forgets it. The caller has locked the job table against claims and
-- finishes, so that none is counted twice or missed. Goes by the holds, one job by one, and the primary key.
-- $1 kind, $2 name (empty: all groups that have neither a cap nor a share of their own), $3 whether there is a cap.
with gone as (
    delete from turnabout.cap c where not $3 and c.kind = $1 and (c.name = $2 or $2 = '' and not exists (
        select from turnabout.group_setting g
        where g.name = c.name and (g.max_running is not null or g.max_share is not null)))
)
insert into turnabout.cap (kind, name, running)
select $1, n.name, count(distinct j.id)
from turnabout.hold h cross join unnest(h.jobs) as u (id) cross join lateral (
    select id, executor, claim, "group", task from turnabout.job where id = u.id offset 0
) j cross join lateral (select case $1 when 0 then j."group" else j.task end as name) n
where $3 and j.executor = h.executor and j.claim = h.claim and (n.name = $2 or $2 = '' and not exists (
    select from turnabout.group_setting g
    where g.name = n.name and (g.max_running is not null or g.max_share is not null)))
group by n.name
on conflict (kind, name) do update set running = excluded.running
