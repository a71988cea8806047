-- Removes a job that has ended, where ended jobs are not kept.
-- By the primary key. The fence is in it: a job that is held by another claim by now, or is being cancelled since it
-- was decided on, stays.
DELETE FROM job WHERE id = ?1 AND executor = ?2 AND claim = ?3 AND cancelling = ?4
