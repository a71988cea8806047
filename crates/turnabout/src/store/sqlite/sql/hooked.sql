-- Whether any task has this hook. Walks the tasks, which are few.
SELECT EXISTS (SELECT 1 FROM task WHERE hooks & ?1)
