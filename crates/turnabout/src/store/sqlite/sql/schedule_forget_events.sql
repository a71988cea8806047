-- Forgets what happened long ago: all but the last so many.
DELETE FROM schedule_event WHERE number <= (SELECT max(number) FROM schedule_event) - ?1
