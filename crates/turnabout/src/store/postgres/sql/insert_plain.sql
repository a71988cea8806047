-- Stores jobs that are ready at once and have neither a given id nor a unique key: one statement, which is a transaction of its
-- own. What makes it safe stands with the function (migrations/0001/submit.sql).
-- $1 now (null: the server's); then one entry a job, $14 which call it is of; then who has nothing to do: $15 executor, $16 claim
-- number, $17 state, $18 queues, $19 version of the settings.
select stored, handed, moment, seqs, lanes
from turnabout.insert_plain($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
