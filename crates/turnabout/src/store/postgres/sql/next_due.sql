-- Seconds until the next parked job is due, and until the next schedule is. One entry of each index; the settings that keep the
-- plan from another one are the function's (migrations/0001/settle.sql).
-- $1 now (null: the server's).
select turnabout.next_due($1),
    extract(epoch from (select min(due) from turnabout.schedule where due is not null)
        - coalesce($1, clock_timestamp()))::double precision
