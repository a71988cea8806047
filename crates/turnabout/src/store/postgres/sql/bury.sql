-- Forgets an executor whose heartbeat number has not moved. Waits for claims of its that are under way; those that
-- come later take nothing. Tells when it was last heard of.
with silent as (
    delete from turnabout.heartbeat where executor = $1 and number = $2 returning executor, seen
),
gone as (
    delete from turnabout.executor e using silent s where e.incarnation = s.executor
)
select seen from silent
