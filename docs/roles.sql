-- Two roles for applications that use plain SQL, to be made by whoever owns the schema (or a superuser), after the tables are there:
--   psql "$DATABASE" -f roles.sql
-- Then: grant turnabout_submitter to shop;

-- May submit jobs, of any group, by turnabout.submit(..); sees and changes nothing.
create role turnabout_submitter;
grant usage on schema turnabout to turnabout_submitter;
grant execute on function turnabout.submit to turnabout_submitter;

-- May read turnabout.jobs: all jobs of all groups, with arguments and results. Changes nothing.
create role turnabout_reader;
grant usage on schema turnabout to turnabout_reader;
grant select on turnabout.jobs to turnabout_reader;
