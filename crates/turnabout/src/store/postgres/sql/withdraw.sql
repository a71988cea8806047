-- Takes back jobs that were inserted in this same transaction, before anybody saw them. Their arrivals stand: what they open is
-- said to be empty.
with gone as (
    delete from turnabout.job where id = any ($1) returning queue, "group", lane, task, due
)
insert into turnabout.arrival (queue, "group", lane, task)
select distinct queue, "group", lane, task from gone where due is null
