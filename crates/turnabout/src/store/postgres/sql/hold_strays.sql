-- Jobs that are still in the hands of an executor which was buried with all that its holds tell of. There should be none, but
-- nobody else would ever find them: now a hold tells, and whoever looks for orphans finds it. Walks the table; seldom.
-- $1 executor.
insert into turnabout.hold (executor, claim, jobs)
select executor, claim, array_agg(id) from turnabout.job where executor = $1 group by executor, claim
