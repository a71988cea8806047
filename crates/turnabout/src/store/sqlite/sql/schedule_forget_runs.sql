-- Forgets the runs of a schedule up to this number. Walks the primary key, usually one entry.
DELETE FROM schedule_run WHERE schedule = ?1 AND number <= ?2
