-- The last line's number of a job's log, and how many lines there are. Walks the primary key, once an attempt. Reads only.
SELECT coalesce(max(number), 0), count(*) FROM job_log WHERE job = ?1
