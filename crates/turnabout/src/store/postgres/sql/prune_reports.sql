-- Forgets reports that came too late: of jobs that nobody holds by that claim any longer. The table is as small as the
-- number of jobs that run and report.
delete from turnabout.progress p where not exists (
    select from turnabout.job j where j.id = p.job and j.executor = p.executor and j.claim = p.claim)
