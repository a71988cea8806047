-- The server's time.
select clock_timestamp()
