-- Takes places under a cap (or gives them back, with a negative number). By the primary key.
-- One writer at a time: a cap is exact across all executors and processes. Under a cap of all groups, one that holds nothing
-- has no row.
INSERT INTO cap (kind, name, running) VALUES (?1, ?2, max(?3, 0))
ON CONFLICT (kind, name) DO UPDATE SET running = max(running + ?3, 0)
