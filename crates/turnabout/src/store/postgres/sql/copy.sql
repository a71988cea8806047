-- Stores many jobs that have neither a given id nor a unique key. Nothing can be in its way: ids are new. Their places were drawn
-- by open_copy.sql, and arrive.sql announces them.
copy turnabout.job (seq, id, submitted, due, expires, parent, items, lane, priority, queue, "group", task, owner, args,
    meta, subject, prepared, limited)
from stdin (format binary)
