-- Strikes off hooks, by the primary key.
delete from turnabout.owed where number = any ($1)
