-- Limits of these tasks on an owner's unfinished jobs. By the primary key.
select name, max_unfinished from turnabout.task where max_unfinished is not null and name = any ($1)
