-- Gives out hooks that are owed for jobs of these tasks, the longest owed first, and not again for $4 seconds. Those
-- that another executor is being given are skipped.
-- $1 now (null: the server's), $2 tasks, $3 how many, $5 of each task which hooks, as bits.
update turnabout.owed o set tries = o.tries + 1, due = coalesce($1, clock_timestamp()) + make_interval(secs => $4)
where o.number in (
    select w.number from turnabout.owed w
        join unnest($2::text[], $5::smallint[]) as t (task, hooks) on t.task = w.task and t.hooks & w.hook <> 0
    where w.due <= coalesce($1, clock_timestamp())
    order by w.number limit $3 for update of w skip locked
)
returning o.number, o.hook, o.tries, o.job
