-- Forgets reports of jobs that nobody holds by that claim any longer: their executors were lost. As many rows as jobs that
-- run and report.
DELETE FROM progress
WHERE NOT EXISTS (SELECT 1 FROM live WHERE id = progress.job AND executor = progress.executor AND claim = progress.claim)
