-- Stores jobs (insert_plain.sql), and then takes everything that is ready for an executor of this process that waits for any
-- (take_all.sql): one statement, which is a transaction of its own. Each function looks anew, so the second sees what the
-- first has stored. Tells what the second tells, or one row of nothing; and last, in every row, what the first tells.
-- $1 to $15 as in insert_plain.sql, $16 to $23 as in take_all.sql.
with stored as materialized (
    select turnabout.insert_plain($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) as ids
)
select t.*, s.ids
from stored s left join lateral turnabout.take_all($16, $17, $18, $19, $20, $21, $22, $23) t on true
