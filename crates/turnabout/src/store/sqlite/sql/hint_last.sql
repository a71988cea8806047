-- Notes what a job was at its end, since it is not kept.
INSERT INTO hint (job, "group", owner, told, last) VALUES (?1, ?2, ?3, ?4, ?5)
