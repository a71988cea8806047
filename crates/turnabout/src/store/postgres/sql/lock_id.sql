-- Takes possession of an executor's id for as long as the connection lasts; says whether nobody else has it. Two that ask
-- at once: one of them gets it.
select pg_try_advisory_lock(hashtextextended('turnabout executor ' || 'turnabout' || ' ' || $1::text, 0))
