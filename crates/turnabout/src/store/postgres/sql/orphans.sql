-- Who holds jobs without being registered: nobody should. Steps from one holder to the next in job_held.
with recursive holder as (
    (select executor from turnabout.job where executor is not null order by executor limit 1)
    union all
    select j.executor from holder h cross join lateral (
        select executor from turnabout.job where executor is not null and executor > h.executor
        order by executor limit 1
    ) j
)
select executor from holder h where not exists (select from turnabout.executor e where e.incarnation = h.executor)
