-- Announces the ready jobs of a queue, a group or a task that is paused no longer. Kinds are locked by lock_kinds.sql.
-- $1 queue, $2 group, $3 task (null: any).
select turnabout.announce($1, $2, $3)
