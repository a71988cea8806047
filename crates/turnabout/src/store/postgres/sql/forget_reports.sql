-- Forgets how far jobs were that this executor no longer holds. By primary key, locked in the order of ids, as report.sql
-- does: the two never wait for each other.
-- $1 executor, $2 ids.
delete from turnabout.progress
where job in (select job from turnabout.progress where job = any ($2) and executor = $1 order by job for update)
