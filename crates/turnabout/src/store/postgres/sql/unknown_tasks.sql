-- How many tasks that nobody has published the unfinished jobs of these groups may have, and how many they have (see the function). The
-- gates are ours (gate.sql), so nobody adds one meanwhile.
select d.name, coalesce(g.max_unknown_tasks, a.max_unknown_tasks, 1000), turnabout.unknown_tasks(d.name)
from unnest($1::text[]) as d (name)
left join turnabout.group_setting g on g.name = d.name
left join turnabout.group_setting a on a.name = ''
