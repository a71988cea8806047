-- Caps under which nothing is held, so that they can be locked; in the order of their names, as by all. $1 kinds, $2 names.
insert into turnabout.cap (kind, name, running)
select d.kind, d.name, 0 from unnest($1::smallint[], $2::text[]) as d (kind, name)
order by d.kind, d.name collate "C"
on conflict do nothing
