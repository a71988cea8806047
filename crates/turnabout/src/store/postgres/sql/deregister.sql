-- Forgets an executor that holds nothing, and its holds. Should it hold something nevertheless, that is found by them.
with gone as (delete from turnabout.executor where incarnation = $1)
delete from turnabout.hold h where h.executor = $1 and not exists (
    select from unnest(h.jobs) as u (id) cross join lateral (
        select executor, claim from turnabout.job where id = u.id offset 0
    ) j
    where j.executor = h.executor and j.claim = h.claim
)
