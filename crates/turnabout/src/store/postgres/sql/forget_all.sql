-- Forgets jobs that have ended, all or none: one statement, which is a transaction of its own. What makes it safe stands with
-- the function (migrations/0001/settle.sql).
-- $1 executor; then ids, claim numbers, cancelling.
select turnabout.forget_all($1, $2, $3, $4)
