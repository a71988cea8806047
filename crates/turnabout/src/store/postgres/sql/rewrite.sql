-- Another queue, or other arguments, for jobs that nobody holds and that are in no stream of another queue. By the primary key,
-- by whoever has locked them in the same transaction. Arguments that are new have not been prepared.
update turnabout.job set queue = coalesce($2::text, queue), args = coalesce($3::text, args), prepared = prepared and $3::text is null
where id = any ($1)
