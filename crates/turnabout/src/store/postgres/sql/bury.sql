-- Forgets an executor whose heartbeat number has not moved. Waits for claims of its that are under way; those that
-- come later take nothing.
delete from turnabout.executor where incarnation = $1 and beat = $2
