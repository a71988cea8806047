-- Charges a group's account: raised to the floor first, then added to. By the primary key.
INSERT INTO account (kind, "group", spent, touched)
VALUES (?1, ?2, ?3 + ?4, ?5)
ON CONFLICT (kind, "group") DO UPDATE SET spent = max(spent, ?3) + ?4, touched = ?5
RETURNING spent
