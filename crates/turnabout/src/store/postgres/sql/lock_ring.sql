-- Locks the place in the ring until the plan is made, so that visits follow each other over all executors of a kind.
-- Tells the place, and whether the executor is (still) registered.
select r.place, r."left", exists (select from turnabout.executor e where e.incarnation = $2) as alive
from turnabout.ring r
where r.kind = $1
for update of r
