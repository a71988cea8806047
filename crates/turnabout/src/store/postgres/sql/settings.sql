-- All settings, as of one version.
select 2::smallint as kind, '' as name, s.version::bigint as weight, null::int as max_running, s.paused,
    null::int as max_unfinished, s.retention, null::int as max_running_each, null::text as rate,
    null::int as max_share, null::int as max_unknown_tasks
from turnabout.settings s
union all
select 0::smallint, name, weight::bigint, max_running, paused, max_unfinished, retention, null, rate, max_share,
    max_unknown_tasks
from turnabout.group_setting
union all
select 1::smallint, name, 1::bigint, max_running, paused, null, retention, max_running_each, rate,
    null, null from turnabout.task_limit
union all
select 3::smallint, name, 1::bigint, null, paused, null, '{}', null, null, null, null
from turnabout.queue_setting
