-- Adds to the audit log.
insert into turnabout.audit (at, by, role, address, action, target, "group", filter, count, before, after, note)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
