-- Limits of these groups: their own, or those of all groups. The largest number is no limit. By group_limited.
select d.name, coalesce(g.max_unfinished, a.max_unfinished)
from unnest($1::text[]) as d (name)
left join turnabout.group_setting g on g.name = d.name and g.max_unfinished is not null
left join turnabout.group_setting a on a.name = '' and a.max_unfinished is not null
where coalesce(g.max_unfinished, a.max_unfinished) < 2147483647
