-- A limit was set for a group, or (without a name) for all: the jobs that there are count from now on. Walks the table; seldom.
update turnabout.job set limited = true where $1 in ("group", '') and not limited
