-- What the store sees in an executor's hands; claims with a hold that is empty are told without a job.
select id, claim, cancelling from turnabout.in_hand($1)
