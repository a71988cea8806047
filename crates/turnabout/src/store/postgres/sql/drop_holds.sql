-- All jobs of these claims are known to be settled: their holds go.
-- $1 executor, $2 claims.
delete from turnabout.hold where executor = $1 and claim = any ($2)
