-- Takes everything that is ready, if that is little: one statement, which is a transaction of its own. Which index it walks
-- and what makes it safe stands with the function (migrations/0004_take.sql, 0006_hold.sql).
-- $1 executor, $2 claim number, $3 state, $4 kind, $5 queues, $6 tasks, $7 at most so many jobs, $8 the settings' version.
select * from turnabout.take_all($1, $2, $3, $4, $5, $6, $7, $8)
