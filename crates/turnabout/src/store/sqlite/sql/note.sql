-- Notes a hook that is owed, in the transaction of the change that it is about.
INSERT INTO owed (task, hook, since, due, job) VALUES (?1, ?2, ?3, ?3, ?4)
