-- Forgets what was set for a group: the defaults hold again.
delete from turnabout.group_setting where name = $1
