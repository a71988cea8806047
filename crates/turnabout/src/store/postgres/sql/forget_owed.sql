-- Forgets hooks that nobody has run for so long that nobody will, and gates that nobody has passed for a day.
-- $1 hooks noted before this go, $2 gates passed before this go.
with forgotten as (delete from turnabout.owed where since <= $1)
delete from turnabout.gate where passed <= $2
