-- Forgets accounts that nobody has touched for an hour.
delete from turnabout.account where touched < coalesce($1, clock_timestamp()) - interval '1 hour'
