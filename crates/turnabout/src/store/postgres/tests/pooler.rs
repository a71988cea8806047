//! Behind a real `PgBouncer` in transaction mode. (The whole conformance suite runs there by
//! `scripts/postgres run --through-pgbouncer`.)

use std::collections::BTreeSet;

use super::*;
use crate::context::Context;
use crate::executor::Executor;
use crate::job::State;
use crate::jobs::Jobs;
use crate::store::Occupied;
use crate::task::TaskSettings;

cases![
    a_pooler_is_found_without_being_told,
    a_server_without_a_pooler_is_known_as_such,
    jobs_of_several_processes_run_behind_a_pooler,
    messages_come_by_a_way_of_their_own,
    no_session_behind_a_pooler_remembers_anything,
];

fn pooler_url() -> String {
    std::env::var("TURNABOUT_TEST_PGBOUNCER")
        .expect("TURNABOUT_TEST_PGBOUNCER is not set: run scripts/test, which starts a PgBouncer for the tests")
}

impl Place {
    async fn behind(&self, url: &str) -> Arc<PostgresStore> {
        let options = self.options(Clock::System);
        PostgresStore::open(url, options).await.expect("the store opens")
    }
}

async fn a_pooler_is_found_without_being_told(place: &Place) {
    let url = pooler_url();
    let store = place.behind(&url).await;
    assert!(store.pooled());
    assert!(!store.hears(), "it would deliver nothing");
    assert!(place.behind(&format!("{url}?pooler=transaction")).await.pooled());
    let told = place.behind(&format!("{}?pooler=none", place.url)).await;
    assert!(!told.pooled());
}

async fn a_server_without_a_pooler_is_known_as_such(place: &Place) {
    let store = place.open().await;
    assert!(!store.pooled() && store.hears());
    // Whoever has options of their own keeps them.
    let own = place
        .behind(&format!("{}?options=-c%20work_mem%3D7MB", place.url))
        .await;
    assert!(!own.pooled());
    let client = own.client().await.expect("a connection");
    let kept: String = client.query_one("show work_mem", &[]).await.expect("told").get(0);
    assert_eq!(kept, "7MB");
}

async fn run(_: Context, number: u64) -> crate::TaskResult<u64> {
    tokio::time::sleep(Duration::from_millis(number % 5)).await;
    Ok(number)
}

fn echo() -> TaskSettings {
    TaskSettings::named("echo")
}

async fn jobs_of_several_processes_run_behind_a_pooler(place: &Place) {
    let mut executors = Vec::new();
    let mut handles = Vec::new();
    for n in 0..4 {
        // Each with connections of its own, of which the pooler makes few.
        let jobs = Jobs::on(place.behind(&pooler_url()).await);
        let executor = Executor::new(&jobs).task_named(echo(), run).slots(4);
        let executor = executor
            .name(format!("pooled-{n}"))
            .lease(Duration::from_millis(300), Duration::from_secs(10));
        handles.push(executor.start().await.expect("it starts"));
        executors.push(jobs);
    }
    let submits = executors.iter().enumerate().map(|(n, jobs)| async move {
        let mut ids = Vec::new();
        for number in 0..40u64 {
            let submit = jobs
                .submit_named("echo", number)
                .group(format!("g{}", (n as u64 + number) % 7));
            ids.push(submit.await.expect("submitted").id);
        }
        // Many at once go by another way.
        let many = (0..600u64).map(|number| crate::Submission::named("echo", number).group(format!("m{}", number % 5)));
        for stored in jobs.submit_all(many).await {
            ids.push(stored.expect("submitted").id);
        }
        ids
    });
    let ids: BTreeSet<JobId> = futures_util::future::join_all(submits)
        .await
        .into_iter()
        .flatten()
        .collect();
    let all_ended = async {
        loop {
            let counts = executors[0].counts().await.expect("counted");
            if counts.ready + counts.parked + counts.held == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let all_ended = tokio::time::timeout(Duration::from_mins(1), all_ended).await;
    all_ended.expect("they end soon");
    let ids: Vec<JobId> = ids.into_iter().collect();
    let ended = executors[0].get_many(&ids).await.expect("they are there");
    assert_eq!(ended.len(), 4 * 640);
    for job in ended {
        assert_eq!((job.state, job.attempts), (State::Success, 1));
    }
    for handle in &handles {
        assert!(handle.health().is_good(), "{:?}", handle.health());
        handle.shutdown(Duration::from_secs(5)).await;
    }
}

async fn messages_come_by_a_way_of_their_own(place: &Place) {
    let mut options = place.options(Clock::System);
    options.listen_at(&place.url);
    let store = PostgresStore::open(&pooler_url(), options)
        .await
        .expect("the store opens");
    assert!(store.pooled() && store.hears());
    let (number, echo) = store.listener.next_echo();
    store.run("testing", &store.sql.notify, &[&echo]).await.expect("sent");
    assert!(store.listener.has_heard(number, Duration::from_secs(20)).await);
    let Occupied::Ours { lock, .. } = store.occupy("joex1").await.expect("asked") else {
        panic!("the id is free");
    };
    let other = place.open().await;
    assert!(matches!(other.occupy("joex1").await, Ok(Occupied::Taken { .. })));
    drop(lock);
}

/// What was left there would meet another process sooner or later.
async fn no_session_behind_a_pooler_remembers_anything(place: &Place) {
    let store = place.behind(&pooler_url()).await;
    let jobs = Jobs::on(store.clone());
    let executor = Executor::new(&jobs).task_named(echo(), run);
    let executor = executor.start().await.expect("it starts");
    let id = jobs.submit_named("echo", 1u64).await.expect("submitted").id;
    let ended = tokio::time::timeout(Duration::from_mins(1), jobs.watch(id).ended()).await;
    ended.expect("it ends").expect("it is there");
    executor.shutdown(Duration::ZERO).await;
    store.prune().await.expect("tidied up");
    let (pooled, connection) = tokio_postgres::connect(&pooler_url(), NoTls)
        .await
        .expect("a connection");
    tokio::spawn(connection);
    for _ in 0..50 {
        let rows = pooled
            .simple_query("select (select count(*) from pg_prepared_statements), current_setting('lock_timeout')")
            .await
            .expect("told");
        let told = rows.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => Some((row.get(0), row.get(1))),
            _ => None,
        });
        assert_eq!(
            told.map(|(names, timeout)| (names == Some("0"), timeout == Some("0"))),
            Some((true, true))
        );
    }
    let client = place.client().await;
    let listening = "select count(*) from pg_stat_activity where query ilike 'listen %' and query like $1";
    let row = client.query_one(listening, &[&format!("%{}%", place.schema)]).await;
    assert_eq!(
        row.expect("counted").get::<_, i64>(0),
        0,
        "nobody listens through a pooler"
    );
}
