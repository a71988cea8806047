-- Makes the ring of a kind of executors, if it is the first of its kind.
insert into turnabout.ring (kind) values ($1) on conflict do nothing
