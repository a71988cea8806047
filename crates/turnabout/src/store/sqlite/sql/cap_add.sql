-- Takes places under a cap (or gives them back, with a negative number). By the primary key.
-- One writer at a time: a cap is exact across all executors and processes.
UPDATE cap SET running = max(running + ?3, 0) WHERE kind = ?1 AND name = ?2
