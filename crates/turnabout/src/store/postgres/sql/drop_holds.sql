-- Nothing is left in an executor's hands that was taken by these claims.
-- $1 executor, $2 claims.
delete from turnabout.hold where executor = $1 and claim = any ($2)
