-- Forgets an executor whose heartbeat number has not moved. Waits for claims of its that are under way; those that
-- come later take nothing. Tells when it was last heard of.
delete from turnabout.executor where incarnation = $1 and beat = $2 returning seen
