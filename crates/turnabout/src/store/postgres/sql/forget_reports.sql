-- Forgets how far jobs were that this executor no longer holds: run after that was written, so that a write which was
-- refused takes nothing away from the claim that stands. By primary key, locked in the order of ids, as report.sql does:
-- the two never wait for each other.
-- $1 executor, $2 ids.
delete from turnabout.progress
where job = any (array(
    select p.job from turnabout.progress p
    where p.job = any ($2) and p.executor = $1 and not exists (
        select from turnabout.job j where j.id = any (array[p.job]) and j.executor = p.executor and j.claim = p.claim)
    order by p.job for update
))
