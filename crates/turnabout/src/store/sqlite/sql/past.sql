-- Ended jobs that a rule covers and that are past their time, a page of them, in the order in which they ended. Walks
-- `history_by_end` from where the last look ended. Reads only: those that write wait for nobody who looks.
-- ?1 and ?2 after this end and id, ?3 up to this end, ?4 the final states; then JSON lists: ?5 groups, ?6 tasks (null: all), ?7
-- not these groups, ?8 not these tasks; ?9 how many.
SELECT id, finished
FROM job_history INDEXED BY history_by_end
WHERE (finished, id) > (?1, ?2) AND finished <= ?3
  AND state IN (SELECT value FROM json_each(?4))
  AND (?5 IS NULL OR "group" IN (SELECT value FROM json_each(?5)))
  AND (?6 IS NULL OR task IN (SELECT value FROM json_each(?6)))
  AND "group" NOT IN (SELECT value FROM json_each(?7))
  AND task NOT IN (SELECT value FROM json_each(?8))
ORDER BY finished, id
LIMIT ?9
