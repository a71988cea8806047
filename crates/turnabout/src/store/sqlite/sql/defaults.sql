-- What a task says of its jobs where a submit is silent. By the primary key; reads only.
SELECT queue, priority, max_unfinished FROM task WHERE name = ?1
