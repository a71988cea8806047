-- Locks the place in the ring until the plan is made, so that visits follow each other over all executors of a kind.
-- Tells the place, whether the executor is (still) registered, and how things stand: how many places in lanes were given
-- away, whether everyone who was given one before that has committed (or gave up), and the version of the settings.
--
-- Whoever makes jobs ready holds a lock, shared with all others who do, from before it draws a place until it commits:
-- when nobody holds it after the number of places was read, all jobs up to there are for the next statement to see.
with drawn as materialized (select last_value + is_called::int as places from turnabout.job_seq)
select r.place, r."left", exists (select from turnabout.executor e where e.incarnation = $2) as alive, d.places,
    case when pg_try_advisory_lock(hashtext('turnabout'), 1) then pg_advisory_unlock(hashtext('turnabout'), 1)
        else false end and d.places is not null as settled,
    s.version
from drawn d, turnabout.ring r, turnabout.settings s
where r.kind = $1
for update of r
