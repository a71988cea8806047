-- Places that were given back, and are not counted as such yet, of a cap that is about to be counted anew: the jobs that had
-- them are gone, so that they would be given back twice.
-- $1 kind, $2 name (empty: all).
delete from turnabout.freed where kind = $1 and $2 in (name, '')
