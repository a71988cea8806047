-- Holds an executor's row, as a claim does: it cannot be reaped before this commits.
select 1 from turnabout.executor where incarnation = $1 for key share
