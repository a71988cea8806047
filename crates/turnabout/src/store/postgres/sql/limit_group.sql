-- A limit was set for a group: the jobs that it has count from now on. Walks the table; seldom.
update turnabout.job set limited = true where "group" = $1 and not limited
