-- A heartbeat. By the primary key; an executor that was reaped has no row, and learns so.
UPDATE executor SET beat = ?2 WHERE incarnation = ?1
