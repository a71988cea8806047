-- Locks all caps, in the order of their names, for a transaction that gives back places by more than one statement.
select from turnabout.cap order by kind, name for update
