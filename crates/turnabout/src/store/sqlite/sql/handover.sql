-- What decides whether a new job may go straight to an idle executor: whether that is registered (?1), the version of the
-- settings, the place in the ring of its kind (?2), and whether anything is ready in a queue (?3) of its tasks (?4, a JSON
-- list). By primary keys, and one entry of `takeable` for each task; in the transaction that then stores the job.
SELECT EXISTS (SELECT 1 FROM executor WHERE incarnation = ?1),
       (SELECT value FROM counter WHERE name = 'settings'),
       (SELECT place FROM ring WHERE kind = ?2),
       (SELECT left FROM ring WHERE kind = ?2),
       EXISTS (SELECT 1
               FROM json_each(?4) AS known
               CROSS JOIN stream INDEXED BY takeable ON queue = ?3 AND task = known.value AND paused = 0)
