-- Forgets an ended job that is past its time, unless it was restarted since it was looked at. By the primary key.
-- ?1 id, ?2 when it had ended.
DELETE FROM job_history WHERE id = ?1 AND finished = ?2
