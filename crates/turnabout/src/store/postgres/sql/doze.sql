-- Notes whether an executor sleeps.
update turnabout.executor set asleep = $2 where incarnation = $1 and asleep <> $2
