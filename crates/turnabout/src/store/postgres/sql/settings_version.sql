-- The version of the settings. Asked after a peek: what was set before a job was submitted holds for it.
select version from turnabout.settings
