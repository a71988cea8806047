-- Lets go of an executor's id.
select pg_advisory_unlock(hashtextextended('turnabout executor ' || 'turnabout' || ' ' || $1::text, 0))
