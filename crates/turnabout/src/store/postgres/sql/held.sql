-- What the store sees in an executor's hands by these claims; claims with a hold that is empty are told without a job.
-- $1 executor, $2 claims (null: all).
select id, claim, cancelling from turnabout.in_hand($1, $2)
