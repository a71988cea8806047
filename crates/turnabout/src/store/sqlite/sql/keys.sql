-- All signing keys, newest first: a handful.
SELECT number, secret, made FROM signing_key ORDER BY number DESC
