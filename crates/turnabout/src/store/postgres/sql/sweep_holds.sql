-- Holds go that were seen to be empty: those of these claims that are, one by one.
-- $1 executor, $2 claims.
select turnabout.sweep_holds($1, $2)
