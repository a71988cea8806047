-- Jobs under a rate were taken: its bucket will be full later. By the primary key, in the transaction of the claim.
REPLACE INTO rate (kind, name, full) VALUES (?1, ?2, ?3)
