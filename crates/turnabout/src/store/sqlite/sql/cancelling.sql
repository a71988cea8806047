-- Held jobs that were asked to stop, which their rows say. Walks `held`: what executors hold, no more. Only reads.
SELECT id FROM job INDEXED BY held WHERE executor IS NOT NULL AND cancelling = 1
