-- What became of the last submit_within.sql of this transaction. One row; nobody else writes before the commit.
SELECT json_object('job', lower(hex(job)), 'outcome', outcome, 'allowed', CASE outcome WHEN 'owner' THEN of_owner WHEN 'tasks' THEN of_tasks ELSE of_group END)
FROM submit_outcome
