-- Whether a time of a schedule has had its job. By `schedule_run_once`.
SELECT 1 FROM schedule_run WHERE schedule = ?1 AND time = ?2 AND job IS NOT NULL
