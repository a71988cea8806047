-- Ends one job well inside the transaction of another driver, by the trigger `turnabout_finish`, which says the rest.
-- ?1 the job, its claim and its result, as JSON.
INSERT INTO turnabout_finish (job) VALUES (?1)
