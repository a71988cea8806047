-- Hints after a number, in order. A range of the primary key. Reads only.
select number, job, "group", owner, last from turnabout.hint where number > $1 order by number limit $2
