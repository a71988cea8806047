-- What firing makes of schedules that this transaction has locked. By the primary key.
update turnabout.schedule s set next = d.next, due = d.due, standing = d.standing
from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::text[]) as d (id, next, due, standing)
where s.id = d.id
