-- How live jobs stand to a claim. By primary key.
select id, claim, cancelling from turnabout.job where executor = $1 and id = any ($2)
