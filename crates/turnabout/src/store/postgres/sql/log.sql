-- Adds lines to jobs' logs. By primary key; the fence: only while the claim stands, or if it has ended the job. A line that
-- is there already came with an earlier call whose reply was lost.
-- $1 executor; then the jobs: ids, claim numbers; then the lines: which of the jobs (from 1), number, attempt, level, time,
-- message.
with held as (
    select d.id, d.place from unnest($2::uuid[], $3::bigint[]) with ordinality as d (id, claim, place)
    where exists (select from turnabout.job j where j.id = d.id and j.executor = $1 and j.claim = d.claim)
        or exists (select from turnabout.job_history h where h.id = d.id and h.executor = $1 and h.claim = d.claim)
)
insert into turnabout.job_log (job, number, attempt, level, time, message)
select h.id, l.number, l.attempt, l.level, l.time, l.message
from unnest($4::int[], $5::bigint[], $6::int[], $7::smallint[], $8::timestamptz[], $9::text[])
        as l (place, number, attempt, level, time, message)
    join held h on h.place = l.place
on conflict do nothing
