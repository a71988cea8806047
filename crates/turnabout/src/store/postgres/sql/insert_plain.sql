-- Stores jobs that are ready at once and have neither a given id nor a unique key, and wakes whoever sleeps in another
-- process: one statement, which is a transaction of its own. Which index it walks and what makes it safe stands with the
-- function (migrations/0002_submit.sql).
-- $1 now (null: the server's), $2 executors that are told in another way; then one entry a job; $15 which call it is of.
select turnabout.insert_plain($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
