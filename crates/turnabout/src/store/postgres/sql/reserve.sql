-- Whose turn it is, and which streams those groups have: one statement, which is a transaction of its own. What makes it safe
-- stands with the function (migrations/0001/take.sql).
-- $1 executor, $2 jobs wanted, $3 groups to tell, $4 whether visits are counted, $5 groups to step over, $6 limited tasks, $7 the
-- name behind which to begin.
select alive, version, place, "left", next_place, next_left, complete, groups, lanes, queues, tasks, firsts,
    lasts
from turnabout.reserve($1, $2, $3, $4, $5, $6, $7)
