-- Ends one job inside its handler's transaction, behind the fence; see the function. Also says whether that transaction
-- is still the one that was begun for it.
select turnabout.end_within($1, $2, $3, $4, $5, $6, $7, $8, $9)
