-- Forgets counters of caps that hold nothing: no row says the same. Walks `cap`.
DELETE FROM cap WHERE running = 0
