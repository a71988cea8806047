-- Forgets jobs that an executor holds and that have ended, where ended jobs are not kept: all of them, or none. One
-- transaction, without a `begin`; the settings that keep plans from flipping are the function's. It is what nearly always
-- happens, and costs two thirds of what telling which were forgotten does (sql/forget.sql, which says that).
--
-- Nothing is forgotten where some are no longer held by that claim, or a cancel has come meanwhile, or there is a cap, whose
-- places have to be given back. A cap that someone is about to make waits for this, or is seen by it.
-- Walks the primary key, in the order of ids, in which everyone locks jobs.
create function turnabout.forget_all(me uuid, ids uuid[], claims bigint[], cancels boolean[]) returns boolean
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
    forgotten bigint;
begin
    delete from turnabout.job j using unnest(ids, claims, cancels) as d (id, claim, cancelling)
    where j.id = d.id and j.executor = me and j.claim = d.claim
        and j.cancelling = d.cancelling and not exists (select from turnabout.cap);
    get diagnostics forgotten = row_count;
    if forgotten < cardinality(ids) then
        raise exception 'not all of them' using errcode = 'TU001';
    end if;
    return true;
exception when sqlstate 'TU001' then
    return false;
end
$$;
