-- Adds a signing key $2, unless one is younger than $3 seconds. $1 now (null: the server's). Two who come at once may add two,
-- which does no harm: both sign, and both are known.
insert into turnabout.signing_key (secret, made)
select $2, coalesce($1, clock_timestamp())
where not exists (
    select from turnabout.signing_key k where k.made > coalesce($1, clock_timestamp()) - make_interval(secs => $3)
)
