-- Writes a change to an unfinished job that stays unfinished. What was not said of error and result stays, and the
-- start while it is held.
-- By the primary key, read in the same transaction: nobody can have changed the job since it was decided on.
UPDATE job
SET state = ?2, reason = ?3, cancelling = ?4, priority = ?5, attempts = ?6, interruptions = ?7, losses = ?8,
    lane = ?9, seq = ?10, due = ?11, executor = ?12, claim = ?13,
    error = coalesce(?14, error), result = coalesce(?15, result), started = iif(?12 IS NULL, NULL, started),
    error_message = iif(?14 IS NULL, error_message, ?16), error_code = iif(?14 IS NULL, error_code, ?17)
WHERE id = ?1
