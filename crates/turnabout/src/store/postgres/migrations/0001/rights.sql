-- Nobody but the owner of the schema calls any function until they are granted it: see docs/roles.sql.
do $$ begin
    execute format('revoke execute on all functions in schema %I from public', 'turnabout');
end $$;
