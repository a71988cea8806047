-- The number of the last thing that happened to any schedule, also if it is forgotten.
SELECT coalesce((SELECT max(number) FROM schedule_event), 0)
