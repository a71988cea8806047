-- Notes what became of a time. A second job for one time is refused by `schedule_run_once`, and with it the transaction.
INSERT INTO schedule_run (schedule, number, time, count, kind, at, late, job, why)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
