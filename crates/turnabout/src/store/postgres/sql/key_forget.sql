-- Forgets signing keys that are as old as $2 seconds, or older. $1 now (null: the server's).
delete from turnabout.signing_key where made <= coalesce($1, clock_timestamp()) - make_interval(secs => $2)
