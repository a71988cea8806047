-- Forgets an executor that holds nothing, and its holds. Should it hold something nevertheless, that is found by them.
with gone as (delete from turnabout.executor where incarnation = $1),
silent as (delete from turnabout.heartbeat where executor = $1)
select turnabout.sweep_holds($1, null)
