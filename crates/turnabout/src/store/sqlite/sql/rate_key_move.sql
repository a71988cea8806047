-- A job with this key starts, or is put off. By the primary key.
REPLACE INTO rate_key (key, full, next, late) VALUES (?1, ?2, ?3, ?4)
