-- How many jobs there are. Walks the streams, the partial indexes and the smallest index of the history, never the rows.
SELECT (SELECT coalesce(sum(jobs), 0) FROM stream),
       (SELECT count(*) FROM job INDEXED BY parked WHERE due IS NOT NULL),
       (SELECT count(*) FROM job INDEXED BY held WHERE executor IS NOT NULL) + (SELECT count(*) FROM claim),
       (SELECT count(*) FROM job_history)
