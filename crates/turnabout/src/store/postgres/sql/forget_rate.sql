-- A group or task has no rate any longer: forgets its bucket. By the primary key, with the settings.
-- $1 kind, $2 name (empty: all groups that have no rate of their own).
delete from turnabout.rate r where r.kind = $1 and (r.name = $2 or $2 = '' and not exists (
    select from turnabout.group_setting g where g.name = r.name and g.rate is not null))
