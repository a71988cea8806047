-- Whether a job was ended by this very claim: then a write whose reply was lost has been done.
-- By the primary key. Reads only.
SELECT 1 FROM job_history WHERE id = ?1 AND executor = ?2 AND claim = ?3
