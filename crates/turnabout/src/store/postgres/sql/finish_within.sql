-- Ends one job well inside the transaction of another driver; see the function. $1: the job, its claim and its result, as JSON.
select turnabout.finish(d.job, d.claim, d.result::jsonb)::text
from json_to_record($1::text::json) as d (job uuid, claim text, result text)
