-- Announces the ready jobs of a group or of a task that is paused no longer. Kinds are locked by lock_kinds.sql.
-- $1 group, $2 task (null: any).
select turnabout.announce($1, $2)
