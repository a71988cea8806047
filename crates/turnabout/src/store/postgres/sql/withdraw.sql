-- Takes back jobs that were inserted in this same transaction, before anybody saw them.
delete from turnabout.job where id = any ($1)
