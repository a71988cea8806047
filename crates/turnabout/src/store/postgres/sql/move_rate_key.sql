-- A job with this key starts, or is put off, if nobody was faster: the row is as it was read. By the primary key.
-- $1 key, $2 to $4 full, next and late, $5 to $7 as they were.
insert into turnabout.rate_key as r (key, "full", next, late) values ($1, $2, $3, $4)
on conflict (key) do update set "full" = excluded."full", next = excluded.next, late = excluded.late
where (r."full", r.next, r.late) = ($5, $6, $7)
