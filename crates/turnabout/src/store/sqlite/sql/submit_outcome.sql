-- What became of the last submit_within.sql of this transaction. One row; nobody else writes before the commit.
SELECT json_object('job', lower(hex(job)), 'outcome', outcome, 'allowed', iif(outcome = 'owner', of_owner, of_group))
FROM submit_outcome
