-- Locks caps in the order of their names, so that two claims never wait for each other, and tells how many jobs are held.
select kind, name, running from turnabout.cap
where (kind, name) in (select * from unnest($1::smallint[], $2::text[]))
order by kind, name
for update
