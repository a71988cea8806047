-- Puts a parked job into an executor's hands. By primary key; not if someone was quicker, or it is parked no longer.
-- $1 executor, $2 claim number, $3 state, $4 id.
with grabbed as (
    update turnabout.job set executor = $1, claim = $2, state = $3, reason = null, due = null
    where id = $4 and executor is null and due is not null
    returning id
)
insert into turnabout.hold (executor, claim, jobs) select $1, $2, array[id] from grabbed
