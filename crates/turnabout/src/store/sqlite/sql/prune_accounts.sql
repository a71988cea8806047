-- Forgets accounts out of use. Walks `account_by_use`.
DELETE FROM account WHERE touched <= ?1
