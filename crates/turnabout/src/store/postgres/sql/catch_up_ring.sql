-- Moves the place in the ring on for takes that did so in their process's memory only (take_all.sql), unless someone has
-- moved it since. Before lock_ring.sql, in the same transaction.
-- $1 kind, $2 place, $3 left, $4 how often it had been moved.
update turnabout.ring set place = $2, "left" = $3, moves = moves + 1 where kind = $1 and moves = $4
