-- Days that were being dropped when something came in between: no longer part of history, or (true) only half so.
select c.relname::text, substring(c.relname from '^(.*)_'), i.inhrelid is not null
from pg_class c left join pg_inherits i on i.inhrelid = c.oid
where c.relnamespace = 'turnabout'::regnamespace and c.relkind = 'r' and c.relname ~ '^job_(history|log|attempt)_[0-9]{8}$'
    and (i.inhrelid is null or i.inhdetachpending)
order by c.relname
