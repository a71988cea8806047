-- Locks all kinds, in the order of their numbers, so that none of them files arrivals meanwhile.
select from turnabout.kind order by id for update
