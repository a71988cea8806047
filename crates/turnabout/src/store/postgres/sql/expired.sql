-- Whether any job has waited past its expiry. One statement, whose settings are the function's (migrations/0001/settle.sql).
-- $1 now (null: the server's), $2 the state in which a job can expire.
select turnabout.has_expired($1, $2)
