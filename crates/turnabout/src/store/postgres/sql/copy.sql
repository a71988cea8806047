-- Stores many jobs that have neither a given id nor a unique key. Nothing can be in its way: ids are new. Places in the
-- lane are given in the order of the rows, by the column's default.
copy turnabout.job (id, submitted, due, expires, parent, items, lane, priority, queue, "group", task, owner, args, meta,
    subject, prepared)
from stdin (format binary)
