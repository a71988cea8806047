//! Where a case takes place: a store, a clock, and helpers.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::Exec;
use crate::clock::{Clock, ManualClock};
use crate::error::Result;
use crate::job::{Claimed, Job, JobId, Meta, Priority, When};
use crate::lifecycle::{Change, Event, Policy, Refusal};
use crate::store::model::Model;
use crate::store::{Changed, Filter, MaxUnfinished, NewJob, Store, StoreOptions, Submitted, Which};
use crate::task::TaskSettings;

/// Which store a case runs on, and where that is.
#[derive(Debug)]
enum Ground {
    Model,
    #[cfg(feature = "sqlite")]
    Sqlite(tempfile::TempDir),
    #[cfg(feature = "sqlite")]
    SqliteInMemory,
    #[cfg(feature = "postgres")]
    Postgres {
        url: String,
        schema: String,
    },
}

/// A store of its own for one case.
pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: ManualClock,
    ground: Ground,
}

/// How many jobs `World::all` can see.
const ALL: u32 = 1_000_000;

pub(crate) async fn on_model(case: impl AsyncFn(&World)) {
    case(&World::open(Ground::Model).await).await;
}

#[cfg(feature = "sqlite")]
pub(crate) async fn on_sqlite(case: impl AsyncFn(&World)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    case(&World::open(Ground::Sqlite(folder)).await).await;
}

#[cfg(feature = "sqlite")]
pub(crate) async fn on_sqlite_in_memory(case: impl AsyncFn(&World)) {
    case(&World::open(Ground::SqliteInMemory).await).await;
}

/// The schema is dropped whether the case passes or not.
#[cfg(feature = "postgres")]
pub(crate) async fn on_postgres(case: impl AsyncFn(&World)) {
    use futures_util::FutureExt as _;

    let url = postgres_url();
    let schema = format!("t_{}", Uuid::new_v4().simple());
    let world = World::open(Ground::Postgres {
        // Perhaps through a pooler: what a case does by hand goes to the server.
        url: std::env::var("TURNABOUT_TEST_THROUGH").unwrap_or_else(|_| url.clone()),
        schema: schema.clone(),
    })
    .await;
    let outcome = std::panic::AssertUnwindSafe(case(&world)).catch_unwind().await;
    drop(world);
    drop_schema(&url, &schema).await;
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

/// A server on which tests may do what they like.
#[cfg(feature = "postgres")]
pub(crate) fn postgres_url() -> String {
    std::env::var("TURNABOUT_TEST_POSTGRES")
        .expect("TURNABOUT_TEST_POSTGRES is not set: run scripts/test, which starts a PostgreSQL server for the tests")
}

#[cfg(feature = "postgres")]
pub(crate) async fn drop_schema(url: &str, schema: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls)
        .await
        .expect("a connection to drop the schema");
    let connection = tokio::spawn(connection);
    // Someone may be on the way out, with a statement that was not answered yet.
    for attempt in 1.. {
        let dropped = client
            .batch_execute(&format!("drop schema if exists {schema} cascade"))
            .await;
        match dropped {
            Err(error)
                if error.code() == Some(&tokio_postgres::error::SqlState::T_R_DEADLOCK_DETECTED) && attempt < 10 => {}
            outcome => {
                outcome.expect("the schema goes");
                break;
            }
        }
    }
    drop(client);
    let _ = connection.await;
}

impl World {
    async fn open(ground: Ground) -> Self {
        let clock = ManualClock::new();
        let store = ground.store(&clock, StoreOptions::default().retention).await;
        Self { store, clock, ground }
    }

    /// The same place, opened once more with another retention. (The model begins anew.)
    pub(crate) async fn reopened(&self, retention: Duration) -> Self {
        Self {
            store: self.ground.store(&self.clock, retention).await,
            clock: self.clock.clone(),
            ground: Ground::Model,
        }
    }

    /// The same store once more, as another process would open it. (There is only one model.)
    pub(crate) async fn elsewhere(&self) -> Self {
        let there = self.reopened(StoreOptions::default().retention).await;
        match self.ground {
            Ground::Model => Self {
                store: self.store.clone(),
                ..there
            },
            _ => there,
        }
    }

    /// Whether this is the model: what is only about size or about races is pointless there.
    pub(crate) fn is_model(&self) -> bool {
        matches!(self.ground, Ground::Model)
    }

    /// A model with the same clock.
    pub(crate) fn model_beside(&self) -> Arc<Model> {
        Model::new(options(&self.clock, StoreOptions::default().retention))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Submits jobs that must all be stored.
    pub(crate) async fn submit(&self, jobs: Vec<NewJob>) -> Vec<Submitted> {
        let jobs = jobs.into_iter().map(|job| self.dated(job)).collect();
        let outcomes = self.store.submit(jobs).await.expect("submit works");
        outcomes.into_iter().map(|o| o.expect("the job is stored")).collect()
    }

    /// Submits one job, which must be new.
    pub(crate) async fn add(&self, job: NewJob) -> JobId {
        let submitted = self.submit(vec![job]).await[0];
        assert!(submitted.new, "the job is new");
        submitted.id
    }

    /// Submits `n` jobs of a group.
    pub(crate) async fn flood(&self, group: &str, n: usize) -> Vec<JobId> {
        let jobs = (0..n).map(|_| job(group)).collect();
        self.submit(jobs).await.into_iter().map(|s| s.id).collect()
    }

    /// Ids made by the library show the store's time; so do these.
    fn dated(&self, job: NewJob) -> NewJob {
        if job.id_given {
            return job;
        }
        NewJob {
            id: JobId::at(self.clock.now()),
            ..job
        }
    }

    /// A job that must exist.
    pub(crate) async fn get(&self, id: JobId) -> Job {
        self.find(id).await.expect("the job exists")
    }

    pub(crate) async fn find(&self, id: JobId) -> Option<Job> {
        self.store.get(&[id]).await.expect("get works").pop()
    }

    /// Every job, newest first.
    pub(crate) async fn all(&self) -> Vec<Job> {
        let filter = Filter {
            limit: ALL,
            ..Filter::default()
        };
        self.store.list(&filter).await.expect("list works")
    }

    /// Something happens to one job, which must exist.
    pub(crate) async fn happen(&self, id: JobId, event: Event) -> Result<Change, Refusal> {
        let changed = self.store.change(Which::Ids(vec![id]), event).await;
        let mut changed: Vec<Changed> = changed.expect("change works");
        changed.pop().expect("the job exists").outcome
    }

    /// An executor that knows the task `work` and serves the queue `default`.
    pub(crate) async fn executor(&self) -> Exec {
        self.executor_of(&["default"], &["work"]).await
    }

    pub(crate) async fn executor_of(&self, queues: &[&str], tasks: &[&str]) -> Exec {
        let settings = tasks.iter().map(|name| settings(name)).collect();
        self.executor_with(queues, settings).await
    }

    pub(crate) async fn executor_with(&self, queues: &[&str], tasks: Vec<TaskSettings>) -> Exec {
        let exec = Exec::new(self.store.clone(), Uuid::new_v4(), queues, tasks);
        exec.register().await;
        exec
    }

    /// So many executors of one kind.
    pub(crate) async fn executors(&self, n: usize) -> Vec<Exec> {
        let mut execs = Vec::new();
        for _ in 0..n {
            execs.push(self.executor().await);
        }
        execs
    }
}

impl Ground {
    async fn store(&self, clock: &ManualClock, retention: Duration) -> Arc<dyn Store> {
        let options = options(clock, retention);
        match self {
            Self::Model => Model::new(options),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(folder) => {
                let path = folder.path().join("jobs.db");
                let path = path.to_str().expect("a path in UTF-8");
                let store = crate::store::sqlite::SqliteStore::open(path, options).await;
                store.expect("the store opens")
            }
            #[cfg(feature = "sqlite")]
            Self::SqliteInMemory => {
                let store = crate::store::sqlite::SqliteStore::open(":memory:", options).await;
                store.expect("the store opens")
            }
            #[cfg(feature = "postgres")]
            Self::Postgres { url, schema } => {
                let options = StoreOptions {
                    schema: schema.clone(),
                    ..options
                };
                let store = crate::store::postgres::PostgresStore::open(url, options).await;
                store.expect("the store opens")
            }
        }
    }
}

fn options(clock: &ManualClock, retention: Duration) -> StoreOptions {
    StoreOptions {
        clock: Clock::Manual(clock.clone()),
        retention,
        connections: 6,
        ..StoreOptions::default()
    }
}

/// A job of the task `work`, with nothing special about it.
pub(crate) fn job(group: &str) -> NewJob {
    NewJob {
        id: JobId::new(),
        id_given: false,
        task: "work".to_owned(),
        group: group.to_owned(),
        owner: None,
        queue: None,
        priority: None,
        when: When::Now,
        expires: When::Now,
        unique: None,
        args: "{}".to_owned(),
        prepared: false,
        items: 1,
        subject: None,
        max_unfinished: MaxUnfinished::AsPublished,
        meta: Meta::new(),
        parent: None,
    }
}

/// A task whose delays are exact.
pub(crate) fn settings(name: &str) -> TaskSettings {
    TaskSettings {
        policy: Policy {
            jitter: false,
            ..Policy::default()
        },
        priority: Priority::Normal,
        ..TaskSettings::named(name)
    }
}

/// The ids, for comparing.
pub(crate) fn ids(jobs: &[Claimed]) -> Vec<JobId> {
    jobs.iter().map(|job| job.id).collect()
}

/// The groups, for comparing.
pub(crate) fn groups(jobs: &[Claimed]) -> Vec<&str> {
    jobs.iter().map(|job| job.group.as_str()).collect()
}
