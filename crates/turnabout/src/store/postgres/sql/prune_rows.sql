-- Forgets ended jobs row by row, with what is kept beside them. Walks the primary key: a job has ended after its id was
-- made.
-- $1 the lowest id that is kept in any case, $2 jobs that finished after this are kept, $3 how many at the most.
with gone as (
    delete from turnabout.job_history
    where id in (select id from turnabout.job_history where id < $1 and finished <= $2 order by id limit $3)
    returning id
),
logs as (delete from turnabout.job_log l using gone where l.job = gone.id),
attempts as (delete from turnabout.job_attempt a using gone where a.job = gone.id)
select count(*) from gone
