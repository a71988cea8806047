-- Gives out hooks that are owed for jobs of these tasks, the longest owed first, and not again for $4 seconds. Those
-- that another executor is being given are skipped.
-- $1 now (null: the server's), $2 tasks, $3 how many.
update turnabout.owed o set tries = o.tries + 1, due = coalesce($1, clock_timestamp()) + make_interval(secs => $4)
where o.number in (
    select number from turnabout.owed where due <= coalesce($1, clock_timestamp()) and task = any ($2)
    order by number limit $3 for update skip locked
)
returning o.number, o.hook, o.tries, o.job
