-- When the next parked job is due. Walks `parked`, one entry.
SELECT due FROM job INDEXED BY parked WHERE due IS NOT NULL ORDER BY due LIMIT 1
