-- What the store sees in an executor's hands, by its holds and the primary key (one by one, however many are there). Claims
-- with nothing left are told without a job (as may be others: a claim can have several holds).
select distinct j.id, h.claim, j.cancelling
from turnabout.hold h left join lateral (
    select j.id, j.cancelling from unnest(h.jobs) as u (id) cross join lateral (
        select id, executor, claim, cancelling from turnabout.job where id = u.id offset 0
    ) j
    where j.executor = h.executor and j.claim = h.claim
) j on true
where h.executor = $1
