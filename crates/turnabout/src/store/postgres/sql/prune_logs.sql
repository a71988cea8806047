-- Forgets the logs of jobs that are gone, where ended jobs are not kept: for nobody notes which of them had one. Reads the
-- logs of those that are left.
delete from turnabout.job_log l
where not exists (select from turnabout.job j where j.id = l.job)
    and not exists (select from turnabout.job_history h where h.id = l.job)
