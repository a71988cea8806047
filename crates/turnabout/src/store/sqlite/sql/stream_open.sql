-- Begins a stream. `streams` holds that there is one of each; in the transaction that found none.
INSERT INTO stream (queue, "group", lane, task, jobs, mark, dead) VALUES (?1, ?2, ?3, ?4, 0, 0, 0)
