-- The caps on a group and a task.
select kind, name, allowed, running from turnabout.cap where (kind, name) in ((0, $1), (1, $2)) order by kind
