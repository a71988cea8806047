-- Notes what became of times. A second job for one time is refused by schedule_run_once, and with it the transaction.
insert into turnabout.schedule_run (schedule, number, time, count, kind, at, late, job, why)
select * from unnest($1::uuid[], $2::bigint[], $3::timestamptz[], $4::int[], $5::smallint[], $6::timestamptz[],
    $7::double precision[], $8::uuid[], $9::text[])
