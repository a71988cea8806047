-- Wakes whoever sleeps in another process; nothing if nobody does. $1 the token of this process.
select turnabout.wake($1)
