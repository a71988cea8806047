-- Schedules by their keys, for whoever changes them: waits for those who fire them. By schedule_by_key.
select s.id, s."group", s.owner, s.name, s.said, s.standing
from unnest($1::text[], $2::text[], $3::text[]) as d ("group", owner, name)
join turnabout.schedule s on s."group" = d."group" and s.owner = d.owner and s.name = d.name
for update of s
