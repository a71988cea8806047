-- Wakes whoever sleeps; nothing if nobody does.
select turnabout.wake()
