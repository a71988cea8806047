-- Gives back the places under caps that were freed inside handlers' transactions, and tells whether there were any. Rows of
-- the counters are taken in the order of their names; two who fold at once share the work.
with gone as (delete from turnabout.freed returning kind, name),
folded as (
    update turnabout.cap c set running = greatest(c.running - n.jobs, 0)
    from (select kind, name, count(*) as jobs from gone group by kind, name order by kind, name) n
    where c.kind = n.kind and c.name = n.name
    returning 1
)
select from folded limit 1
