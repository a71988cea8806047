-- Seconds until the next parked job is due. One statement, whose settings are the function's (migrations/0001/settle.sql).
-- $1 now (null: the server's).
select turnabout.next_due($1)
