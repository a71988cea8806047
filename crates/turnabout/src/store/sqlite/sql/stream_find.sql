-- A stream, if it holds ready jobs. Walks `streams`, one entry; in the transaction that then changes it.
SELECT id, cursor, jobs FROM stream WHERE queue = ?1 AND "group" = ?2 AND lane = ?3 AND task = ?4
