-- Draws a place in a lane that no job gets: whoever takes jobs tells the others that what they know is out of date.
select nextval('turnabout.job_seq')
