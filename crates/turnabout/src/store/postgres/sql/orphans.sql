-- Who holds jobs without being registered: nobody should. Walks the holds, of which there are few.
select distinct executor from turnabout.hold h
where not exists (select from turnabout.executor e where e.incarnation = h.executor)
