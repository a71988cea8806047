//! What only `PostgreSQL` does. What every store must do is in the conformance suite.

mod caps;
mod days;
mod feed;
mod forgetting;
mod function;
mod holds;
mod idle;
mod ids;
mod input;
mod insight;
mod interleavings;
mod many;
mod opening;
mod plans;
mod pooler;
mod retention;
mod schedules;
mod schema;
mod snapshot;
mod standby;
mod stranded;
mod submitting;
mod taking;
mod unknown;

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio_postgres::{Client, NoTls};

use super::*;
use crate::error::Error;
use crate::store::conformance::Exec;
use crate::store::conformance::world::{drop_schema, job, postgres_url, settings};
use crate::store::{Configuration as _, Counts, ExecutorInfo, Executors as _, Hints as _, Overview as _, Setting};
use crate::task::TaskSettings;

/// Makes a test of each case, in a schema of its own.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        mod cases {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::store::postgres::tests::in_a_schema(super::$case).await;
            })+
        }
    };
}
use cases;

/// Where a case takes place.
struct Place {
    url: String,
    schema: String,
}

/// The schema is dropped whether the case passes or not.
async fn in_a_schema(case: impl AsyncFn(&Place)) {
    let place = Place {
        url: postgres_url(),
        schema: format!("t_{}", Uuid::new_v4().simple()),
    };
    let outcome = AssertUnwindSafe(case(&place)).catch_unwind().await;
    drop_schema(&place.url, &place.schema).await;
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

/// Someone is about to have one job of the group `a` run at a time: all but the commit.
const CAP_IN_THE_MAKING: &str = "begin; update turnabout.settings set version = version + 1;
    lock table turnabout.job in share row exclusive mode;
    insert into turnabout.group_setting (name, weight, max_running, paused) values ('a', 1, 1, false);
    insert into turnabout.cap (kind, name, running) values (0, 'a', 0)";

impl Place {
    fn options(&self, clock: Clock) -> StoreOptions {
        StoreOptions {
            clock,
            schema: self.schema.clone(),
            connections: 6,
            ..StoreOptions::default()
        }
    }

    async fn try_open(&self) -> Result<Arc<PostgresStore>> {
        PostgresStore::open(&self.url, self.options(Clock::System)).await
    }

    /// The store on the server's clock, as the SQL function has it.
    async fn open(&self) -> Arc<PostgresStore> {
        self.try_open().await.expect("the store opens")
    }

    /// Somebody who has nothing but SQL.
    async fn client(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.expect("a connection");
        // Ends with the client.
        tokio::spawn(connection);
        client
    }

    /// Runs commands that were written for the schema `turnabout`.
    async fn run(&self, client: &Client, sql: &str) {
        let sql = sql::in_schema(sql, &self.schema);
        client.batch_execute(&sql).await.expect("the commands run");
    }

    /// The server tidies up these tables only when it is told to: what it happens to be at would be measured as well.
    async fn untidied(&self, client: &Client, tables: &[&str]) {
        for table in tables {
            let off = format!("alter table turnabout.{table} set (autovacuum_enabled = off)");
            self.run(client, &off).await;
        }
    }

    /// A number.
    async fn number(&self, client: &Client, sql: &str) -> i64 {
        let sql = sql::in_schema(sql, &self.schema);
        client.query_one(&sql, &[]).await.expect("a number").get(0)
    }

    /// The first column of what a query finds.
    async fn texts(&self, client: &Client, sql: &str) -> Vec<String> {
        let sql = sql::in_schema(sql, &self.schema);
        let rows = client.query(&sql, &[]).await.expect("texts");
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Waits until somebody is stopped by the lock on the table of jobs that this client holds.
    async fn until_blocked(&self, client: &Client) {
        let began = Instant::now();
        let blocked = "select count(*) from pg_locks where relation = 'turnabout.job'::regclass and not granted";
        while self.number(client, blocked).await == 0 {
            assert!(began.elapsed() < Duration::from_secs(30), "nobody waits for it");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Submits by plain SQL.
    async fn submit(&self, client: &Client, args: &str) -> Result<JobId, tokio_postgres::Error> {
        let sql = format!("select {}.submit({args})", self.schema);
        client.query_one(&sql, &[]).await.map(|row| JobId(row.get(0)))
    }
}

/// The same server, another database.
fn at_database(url: &str, database: &str) -> String {
    let (server, rest) = url.rsplit_once('/').expect("a URL with a database");
    match rest.split_once('?') {
        Some((_, options)) => format!("{server}/{database}?{options}"),
        None => format!("{server}/{database}"),
    }
}

/// Someone who plays an executor of the queue `default`.
async fn executor(store: &Arc<PostgresStore>, tasks: &[&str]) -> Exec {
    executor_of(store, "default", tasks).await
}

async fn executor_of(store: &Arc<PostgresStore>, queue: &str, tasks: &[&str]) -> Exec {
    let tasks = tasks.iter().map(|name| settings(name)).collect();
    let exec = Exec::new(store.clone(), Uuid::new_v4(), &[queue], tasks);
    exec.register().await;
    exec
}

/// Submits jobs that must all be new.
async fn add(store: &PostgresStore, jobs: Vec<NewJob>) -> Vec<JobId> {
    let outcomes = store.submit(jobs).await.expect("submit works");
    outcomes
        .into_iter()
        .map(|outcome| outcome.expect("it is stored"))
        .inspect(|submitted| assert!(submitted.new, "the job is new"))
        .map(|submitted| submitted.id)
        .collect()
}

async fn get(store: &PostgresStore, id: JobId) -> Job {
    store
        .get(&[id])
        .await
        .expect("get works")
        .pop()
        .expect("the job exists")
}
