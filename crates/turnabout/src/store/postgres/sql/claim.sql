-- Takes jobs from streams: one statement, which is a transaction of its own where no caps are locked. What makes it safe stands
-- with the function (migrations/0001/take.sql).
-- $1 executor, $2 claim number, $3 state, $4 reason, $5 version of the settings; then one entry a stream: pick, jobs of the pick, whether
-- it has several streams, queue, group, lane, task, the seqs with which to begin and after which there may be none, how many at
-- most.
select id, lane, seq, queue, task, "group", owner, priority, args, items, meta, parent, submitted, attempts, interruptions,
    losses, prepared
from turnabout.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
