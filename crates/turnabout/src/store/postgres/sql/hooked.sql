-- Tasks that have hooks, of these.
select name, hooks from turnabout.task where hooks <> 0 and name = any ($1)
