-- Someone watches: until ?2 at least, from ?1 on. What was watched until now goes on; otherwise a new epoch begins.
UPDATE feed
SET epoch = epoch + (until < ?1), until = max(until, ?2),
    forgotten = max(forgotten, coalesce((SELECT max(number) FROM hint WHERE told < ?3), 0))
RETURNING epoch, until, forgotten, max(forgotten, coalesce((SELECT max(number) FROM hint), 0))
