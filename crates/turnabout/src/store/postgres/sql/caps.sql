-- How many jobs of a group and a task are held, where that is counted.
select kind, name, running from turnabout.cap where (kind, name) in ((0, $1), (1, $2)) order by kind
