-- Limits of these groups. By group_limited.
select name, max_unfinished from turnabout.group_setting where max_unfinished is not null and name = any ($1)
