-- Another queue, or other arguments, for a job that nobody holds and that is in no stream of another queue. By the primary key,
-- by whoever has read the job in the same transaction. Arguments that are new have not been prepared.
UPDATE job SET queue = coalesce(?2, queue), args = coalesce(?3, args), prepared = iif(?3 IS NULL, prepared, 0) WHERE id = ?1
