-- How many jobs are ready. Adds up the streams, however many jobs they hold. Reads only.
SELECT coalesce(sum(jobs), 0) FROM stream
