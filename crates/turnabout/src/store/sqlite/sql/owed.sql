-- Gives out hooks that are owed for jobs of these tasks (?2: of each task which hooks, as bits), and not again before ?4.
-- By the primary key, the longest owed first; one writer, so nobody gets the same.
UPDATE owed SET tries = tries + 1, due = ?4
WHERE number IN (
    SELECT o.number FROM owed o CROSS JOIN json_each(?2) t
    WHERE o.due <= ?1 AND t.key = o.task AND t.value & o.hook <> 0
    ORDER BY o.number LIMIT ?3
)
RETURNING number, hook, tries, job
