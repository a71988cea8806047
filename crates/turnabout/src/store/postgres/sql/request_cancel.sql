-- Notes that held jobs are to be cancelled. The rows are locked by lock.sql.
update turnabout.job set cancelling = true where id = any ($1)
