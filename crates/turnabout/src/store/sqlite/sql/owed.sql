-- Gives out hooks that are owed for jobs of these tasks, and not again before ?4. By the primary key, the longest owed
-- first; one writer, so nobody gets the same.
UPDATE owed SET tries = tries + 1, due = ?4
WHERE number IN (
    SELECT number FROM owed
    WHERE due <= ?1 AND task IN (SELECT value FROM json_each(?2))
    ORDER BY number LIMIT ?3
)
RETURNING number, hook, tries, job
