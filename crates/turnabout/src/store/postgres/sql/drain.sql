-- Notes whether an executor is to take no more jobs. By the primary key.
update turnabout.executor set draining = $2, dismissed = dismissed and $2 where incarnation = $1
