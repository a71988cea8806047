-- Writes how far held jobs are: a row of its own for each, in a table that is not written to the WAL. By primary key, in
-- the order of ids, as forget_reports.sql; the fence: only while the claim stands.
-- $1 executor; then ids, claim numbers, percents, steps.
insert into turnabout.progress as p (job, executor, claim, percent, step)
select d.id, $1, d.claim, d.percent, d.step
from unnest($2::uuid[], $3::bigint[], $4::smallint[], $5::text[]) as d (id, claim, percent, step)
    join turnabout.job j on j.id = any (array[d.id]) and j.executor = $1 and j.claim = d.claim
order by d.id
on conflict (job) do update
set executor = excluded.executor, claim = excluded.claim, percent = excluded.percent, step = excluded.step
