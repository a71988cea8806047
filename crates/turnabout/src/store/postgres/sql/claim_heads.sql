-- Takes jobs that a peek has seen at the head of their streams, where it saw them: no second walk of the index.
-- One that lies there no longer, or that another has taken or locked, is not taken; the caller then claims from the
-- stream. (Conditions are put so that no index seems fit to find the rows by: their places are known.)
-- $1 executor, $2 claim number, $3 state; then places and seqs.
with alive as materialized (
    select from turnabout.executor where incarnation = $1 for key share
),
chosen as materialized (
    select j.ctid as place, j.id
    from unnest($4::tid[], $5::bigint[]) as h (place, seq)
    join turnabout.job j on j.ctid = h.place and (j.seq = h.seq) is true
    where num_nonnulls(j.executor, j.due) = 0 and exists (select from alive)
    for update of j skip locked
),
-- What is in whose hands is found by this (docs/adr/0022).
held as (
    insert into turnabout.hold (executor, claim, jobs)
    select $1, $2, array_agg(id) from chosen having count(*) > 0
)
update turnabout.job j
set executor = $1, claim = $2, state = $3, reason = null
where j.ctid = any (array(select place from chosen))
returning j.id, j.lane, j.seq, j.queue, j.task, j."group", j.owner, j.priority, j.args, j.items, j.meta, j.parent,
    j.submitted, j.attempts, j.interruptions, j.losses, j.prepared
