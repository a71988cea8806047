-- Moves the place in the ring on, before anything is claimed.
update turnabout.ring set place = $2, "left" = $3, moves = moves + 1 where kind = $1
