-- Notes that an executor is to take no more jobs and to end. By the primary key.
update turnabout.executor set draining = true, dismissed = true where incarnation = $1
