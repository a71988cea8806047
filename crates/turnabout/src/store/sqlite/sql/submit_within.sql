-- Submits one job inside the transaction of another driver, by the trigger `turnabout_submit`, which says the rest.
-- ?1 the job, as JSON.
INSERT INTO turnabout_submit (job) VALUES (?1)
