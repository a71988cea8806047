-- Gives back the places under caps that were freed inside handlers' transactions, and tells whether there were any. Rows of
-- the counters are taken in the order of their names; two who fold at once share the work.
with gone as (delete from turnabout.freed returning kind, name)
select where turnabout.give_back_places(
    (select array_agg(name) from gone where kind = 0), (select array_agg(name) from gone where kind = 1)
)
