-- Which of these ids name jobs that have ended, in whose group, and by which claim they ended. Each id is looked for in
-- one partition: a join finds it in any plan, an array only in those made for its values.
select h.id, h."group", h.executor, h.claim
from unnest($1::uuid[]) as d (id) join turnabout.job_history h on h.id = any (array[d.id])
