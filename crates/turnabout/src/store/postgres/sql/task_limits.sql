-- Which of these tasks are published, and their limits on an owner's unfinished jobs. By the primary key.
select name, max_unfinished from turnabout.task where name = any ($1)
