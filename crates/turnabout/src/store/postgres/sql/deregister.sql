-- Forgets an executor that holds nothing.
delete from turnabout.executor where incarnation = $1
