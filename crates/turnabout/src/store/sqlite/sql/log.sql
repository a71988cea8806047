-- Adds a line to a job's log. By the primary key; a line that is there already came with an earlier call whose reply was
-- lost. The fence is checked before, in the same transaction.
INSERT OR IGNORE INTO job_log (job, number, attempt, level, time, message) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
