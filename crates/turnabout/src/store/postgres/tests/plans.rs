//! Plans do not flip. Statements that were planned while there was hardly a job cost by what they touch when there are 200,000:
//! that is measured in pages, since what functions do inside has no plan to look at.

mod prepared;
mod statements;

pub(super) use prepared::{Prepared, list, pages, same};
use statements::About;

use super::*;

cases![
    plans_for_a_table_analyzed_while_empty_hold_when_it_is_full,
    plans_for_a_table_vacuumed_to_no_pages_hold_when_it_is_full,
    plans_for_a_table_never_analyzed_hold_when_it_is_full,
];

/// So many jobs are touched by each statement that touches jobs.
const BATCH: usize = 20;
/// What a job may cost: a walk down each index of each table that has a row of it, and the rows.
const PAGES: u64 = 60 * BATCH as u64;
/// So many streams are ready in the end, and each is opened by a step of its own.
const STREAMS: u64 = 2000;

/// Whatever has rows that grow in number with use. The server's own upkeep would mend plans in the middle of a test.
const TABLES: [&str; 14] = [
    "job",
    "arrival",
    "stream",
    "ring",
    "hold",
    "executor",
    "heartbeat",
    "progress",
    "task",
    "task_limit",
    "group_setting",
    "cap",
    "freed",
    "gate",
];

/// 200,000 ready jobs of 1,000 groups and two tasks, of which 20,000 have expired and many will; 40,000 parked ones that are due
/// at the same moment, and some that will be; ended jobs; what others have reported and hold; tasks and paused groups in great number.
const FLOOD: &str = r#"
    insert into turnabout.job (id, submitted, expires, lane, queue, "group", task, args)
    select turnabout.id_at(now()), now(), now() + case when n % 1000 >= 900 then '0 s' when n % 2 = 0 then '1 day' end::interval,
        2, 'default',
        'g' || lpad((n % 1000)::text, 4, '0'), case when n / 1000 % 7 = 0 then 'other' else 'work' end, '{}'
    from generate_series(1, 200000) n;
    insert into turnabout.arrival (queue, "group", lane, task, first)
    select queue, "group", lane, task, min(seq) from turnabout.job where due is null group by queue, "group", lane, task;
    insert into turnabout.job (id, submitted, due, lane, queue, "group", task, unique_key, args)
    select turnabout.id_at(now()), now(), case when n <= 40000 then now() else now() + interval '1 day' end, 2, 'default',
        'parked', 'work', n::text, '{}'
    from generate_series(1, 45000) n;
    insert into turnabout.job_history (id, submitted, finished, attempts, interruptions, losses, items, state, priority,
        queue, "group", task, args)
    select turnabout.id_at(now()), now(), now(), 1, 0, 0, 1, 4, 2, 'default', 'g', 'work', '{}'
    from generate_series(1, 50000) n;
    insert into turnabout.progress select gen_random_uuid(), gen_random_uuid(), n, 50, '' from generate_series(1, 20000) n;
    insert into turnabout.hold select gen_random_uuid(), n, array[gen_random_uuid()] from generate_series(1, 5000) n;
    insert into turnabout.group_setting (name, weight, paused) select 'p' || n, 1, true from generate_series(1, 20000) n;
    insert into turnabout.task (name, queue, priority, retries, retry_delay, retry_cap, jitter, restartable, hooks)
    select 't' || n, 'default', 2, 1, 1, 1, true, true, 0 from generate_series(1, 20000) n;
"#;

/// Others have caps; then each settled job gives back its place.
const CAPS: &str = "insert into turnabout.cap (kind, name, running)
    select n % 2, 'p' || n, 0 from generate_series(1, 20000) n";

async fn plans_for_a_table_analyzed_while_empty_hold_when_it_is_full(place: &Place) {
    hold_when_full(place, async |store, client| {
        // Many jobs have come and gone, so that the server knows of pages with nothing on them.
        let come = r#"insert into turnabout.job (id, submitted, lane, queue, "group", task, args)
            select turnabout.id_at(now()), now(), 2, 'default', 'gone', 'work', '{}' from generate_series(1, 2000);
            delete from turnabout.job"#;
        place.run(client, come).await;
        for table in TABLES {
            place.run(client, &format!("analyze turnabout.{table}")).await;
        }
        place.run(client, "analyze turnabout.job_history").await;
        for group in 0..BATCH {
            add(store, vec![job(&format!("g{group:04}"))]).await;
        }
    })
    .await;
}

async fn plans_for_a_table_vacuumed_to_no_pages_hold_when_it_is_full(place: &Place) {
    hold_when_full(place, async |_, client| {
        for table in TABLES {
            place.run(client, &format!("vacuum analyze turnabout.{table}")).await;
        }
        place.run(client, "vacuum analyze turnabout.job_history").await;
        assert_eq!(
            place.number(client, "select pg_relation_size('turnabout.job')").await,
            0
        );
    })
    .await;
}

async fn plans_for_a_table_never_analyzed_hold_when_it_is_full(place: &Place) {
    hold_when_full(place, async |_, _| {}).await;
}

async fn hold_when_full(place: &Place, begin: impl AsyncFn(&Arc<PostgresStore>, &Client)) {
    let store = place.open().await;
    let mut exec = executor(&store, &["work", "other"]).await;
    let client = place.client().await;
    place.untidied(&client, &TABLES).await;
    let days = "select turnabout.ensure_day(now(), 'job_log'), turnabout.ensure_day(now(), 'job_attempt')";
    place.run(&client, days).await;
    begin(&store, &client).await;
    let mut held: Vec<JobId> = exec.take(BATCH as u32).await.iter().map(|job| job.id).collect();
    held.resize_with(BATCH, JobId::new);
    let ended: Vec<JobId> = (0..BATCH).map(|_| JobId::new()).collect();
    let version = place.number(&client, "select version from turnabout.settings").await;
    let mut about = About {
        schema: &place.schema,
        me: exec.incarnation,
        claim: 1,
        version,
        held: &held,
        ended: &ended,
    };
    // As the pool does with each new connection.
    let warm_up = "select turnabout.reserve(null, 0, 1, true, '{}', '{}', null)";
    place.run(&client, warm_up).await;
    let all = statements::all(&store.sql, &about);
    for statement in all.iter().chain(&statements::opening(&about)) {
        statement.prepare(&client).await;
        statement.settle(&client).await;
    }

    // By somebody else: whoever runs a long statement may miss so much news that all plans are made anew.
    let elsewhere = place.client().await;
    place.run(&elsewhere, FLOOD).await;
    let held: Vec<JobId> = exec.take(BATCH as u32).await.iter().map(|job| job.id).collect();
    assert_eq!(held.len(), BATCH);
    let ended = place
        .texts(&client, "select id::text from turnabout.job_history limit 20")
        .await;
    let ended: Vec<JobId> = ended.iter().map(|id| id.parse().expect("an id")).collect();
    (about.claim, about.held, about.ended) = (2, &held, &ended);
    let mut wrong = measure(&client, statements::all(&store.sql, &about), PAGES).await;
    wrong.extend(measure(&client, statements::opening(&about), 20 * STREAMS).await);
    place.run(&elsewhere, CAPS).await;
    wrong.extend(measure(&client, statements::taking(&store.sql, &about), PAGES).await);
    wrong.extend(measure(&client, statements::settling(&store.sql, &about), PAGES).await);
    assert!(
        wrong.is_empty(),
        "these cost by what there is, and not by what they touch: {wrong:?}"
    );
}

/// Which statements touch too many pages, and how many.
async fn measure(client: &Client, statements: Vec<Prepared>, limit: u64) -> Vec<(&'static str, u64)> {
    let mut wrong = Vec::new();
    for statement in statements {
        // More than once: after somebody else has dropped a schema, the server's own tables have to be read again.
        let mut least = u64::MAX;
        for _ in 0..5 {
            let plan = statement.explain(client).await;
            least = least.min(pages(&plan));
            if least <= limit {
                break;
            }
        }
        println!("{}: {least} pages", statement.name);
        if least > limit {
            println!("{}", statement.explain(client).await);
            wrong.push((statement.name, least));
        }
    }
    wrong
}
