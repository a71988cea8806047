-- Makes a rate's bucket, which is full, unless there is one; or (not $3) forgets it. By the primary key, with the settings.
-- $1 kind, $2 name, $3 whether there is a rate.
with gone as (
    delete from turnabout.rate where kind = $1 and name = $2 and not $3
)
insert into turnabout.rate (kind, name, "full") select $1, $2, 0 where $3 on conflict do nothing
