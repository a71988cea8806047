-- As copy.sql, for a portion of a large submit, whose places in the lanes were drawn by open_copy.sql.
copy turnabout.job (seq, id, submitted, due, expires, parent, items, lane, priority, queue, "group", task, owner, args,
    meta, subject, prepared)
from stdin (format binary)
