-- All signing keys, newest first: a handful.
select number, secret, made from turnabout.signing_key order by number desc
