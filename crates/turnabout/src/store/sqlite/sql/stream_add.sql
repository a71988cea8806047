-- So many more jobs (or fewer, with a negative number) are ready in a stream. By the primary key.
UPDATE stream SET jobs = jobs + ?2 WHERE id = ?1
