-- Forgets the attempts of jobs that are gone, as prune_logs.sql does their logs.
delete from turnabout.job_attempt a
where not exists (select from turnabout.job j where j.id = a.job)
    and not exists (select from turnabout.job_history h where h.id = a.job)
