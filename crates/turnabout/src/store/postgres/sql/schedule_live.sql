-- Which of these jobs are unfinished. By the primary key.
select id from turnabout.job where id = any ($1)
