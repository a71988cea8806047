-- The schema in words, from the catalog: one line each, in order. Days of history are left out: they come and go.
-- Reads only the catalog.
with things as (
    select c.oid, c.relname::text as name, c.relkind, c.reloptions
    from pg_class c
    where c.relnamespace = 'turnabout'::regnamespace and not c.relispartition and c.relkind in ('r', 'p', 'v', 'S')
),
lines (part, name, n, line) as (
    select 1, name, 0, case relkind
            when 'r' then 'table ' || name
            when 'p' then 'table ' || name || ' partition by ' || pg_get_partkeydef(oid)
            when 'v' then 'view ' || name
            else 'sequence ' || name
        end || coalesce(' with (' || array_to_string(reloptions, ', ') || ')', '')
    from things
    union all
    select 1, t.name, a.attnum, format('    %s %s%s%s%s', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
        case when a.attcollation <> y.typcollation then ' collate ' || quote_ident(c.collname) else '' end,
        case when a.attnotnull then ' not null' else '' end,
        coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''))
    from things t
    join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    join pg_type y on y.oid = a.atttypid
    left join pg_collation c on c.oid = a.attcollation
    left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
    where t.relkind <> 'S'
    union all
    select 1, t.name, 10000 + row_number() over (order by c.conname), '    ' || pg_get_constraintdef(c.oid)
    from things t join pg_constraint c on c.conrelid = t.oid and c.contype in ('c', 'f', 'u', 'x')
    union all
    select 1, t.name, 20000 + row_number() over (order by i.relname), '    ' || pg_get_indexdef(i.oid)
    from things t join pg_index x on x.indrelid = t.oid join pg_class i on i.oid = x.indexrelid
    union all
    select 2, p.proname::text, row_number() over (order by p.proname, p.oid), format('function %s(%s) returns %s, %s, %s%s',
        p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), l.lanname,
        case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
        case when p.prosecdef then ', security definer' else '' end)
    from pg_proc p join pg_language l on l.oid = p.prolang
    where p.pronamespace = 'turnabout'::regnamespace
)
select line from lines order by part, name collate "C", n
