//! The embedded store: one `SQLite` file, or memory.
//!
//! One thread owns the connection that writes (`writer.rs`). Verbs are sent to it (`calls.rs`), run in batches inside one
//! transaction each, and are answered when that has committed. Executors with nothing to do leave their takes with it
//! (`standby.rs`). Reads have a thread and a connection of their own. What a verb does is in the file of its name, which is the same
//! as in the other store; its SQL is in `sql/`.

/// A statement from its file, or from several, one after the other. Without the comment above it: statements are looked up by
/// their text.
macro_rules! sql {
    ($($name:literal),+) => {
        const {
            $crate::store::sqlite::without_comment(concat!($(include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/store/sqlite/sql/",
                $name,
                ".sql"
            ))),+))
        }
    };
}

mod apply;
mod attempts;
mod audit;
mod calls;
mod change;
mod executors;
mod fault;
mod feed;
mod grab;
mod hooks;
mod ids;
mod insert;
mod insight;
mod limits;
mod log;
mod open;
mod outbox;
mod overview;
mod peek;
mod prune;
mod read;
mod report;
mod rows;
mod schedules;
mod settings;
mod settle;
mod standby;
mod streams;
mod take;
mod tx;
mod watcher;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tokio::sync::broadcast;
use uuid::Uuid;

use super::Swept;
use super::{
    Changed, Database, Leg, NewJob, Promoted, Rewrite, Settle, Settled, Signal, Start, Statements, Stood, Store,
    StoreOptions, Submitted, Take, Taken, Transactions, Wake, Which,
};
use crate::clock::Clock;
use crate::error::Result;
use crate::group::KeyRate;
use crate::job::{Attempt, Claimed, Job, JobId};
use crate::lifecycle::Event;
use fault::Fault;
use tx::Tx;
use writer::Runner;

/// So many signals may be on their way to a receiver before it is told that it missed some.
const SIGNALS: usize = 4096;

/// What follows the lines that begin with `--`.
const fn without_comment(sql: &'static str) -> &'static str {
    let bytes = sql.as_bytes();
    let mut at = 0;
    while bytes[at] == b'-' {
        while bytes[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    sql.split_at(at).1
}

/// Jobs in a `SQLite` file. Dropping it ends its threads, once they have written what they were given.
#[derive(Debug)]
pub struct SqliteStore {
    clock: Clock,
    signals: broadcast::Sender<Signal>,
    writer: calls::CallQueue,
    /// None: reads go to the writer, since nobody else can see into its memory.
    reader: Option<calls::CallQueue>,
    ids: ids::Ids,
    retention: Duration,
    audit_retention: Duration,
    /// Up to when ended jobs were looked through.
    swept: Mutex<Swept>,
    _watcher: Option<watcher::Watcher>,
}

impl SqliteStore {
    /// How the tables are, without changing anything.
    pub async fn status(path: &str) -> Result<super::SchemaStatus> {
        let owned = path.to_owned();
        tokio::task::spawn_blocking(move || open::status(&owned))
            .await
            .map_err(|panic| open::refused(path, "looking at it failed unexpectedly", Some(panic.into())))?
    }

    /// Opens the file at `path`, and makes it if there is none; `:memory:` opens a store that is forgotten when
    /// dropped.
    pub async fn open(path: &str, options: StoreOptions) -> Result<Arc<Self>> {
        let (owned, migrate) = (path.to_owned(), options.migrate);
        let opened = tokio::task::spawn_blocking(move || open::open(&owned, migrate))
            .await
            .map_err(|panic| open::refused(path, "opening it failed unexpectedly", Some(panic.into())))??;
        let (signals, _) = broadcast::channel(SIGNALS);
        let runner = Runner::new(options.clock.clone(), options.retention, signals.clone());
        let no_thread = |e: std::io::Error| open::refused(path, "no thread could be started", Some(e.into()));
        let reader = opened
            .reader
            .map(|connection| runner.read(connection))
            .transpose()
            .map_err(no_thread)?;
        let writer = runner.write(opened.writer).map_err(no_thread)?;
        let ids = match &opened.log {
            Some(_) => ids::Ids::Beside(path.into()),
            None => ids::Ids::Within(super::ids::IdsInMemory::default()),
        };
        let watcher = opened
            .log
            .map(|log| watcher::watch(log, signals.clone(), &writer))
            .transpose()
            .map_err(no_thread)?;
        Ok(Arc::new(Self {
            clock: options.clock,
            signals,
            writer,
            reader,
            ids,
            retention: options.retention,
            audit_retention: options.audit_retention,
            swept: Mutex::default(),
            _watcher: watcher,
        }))
    }

    async fn write<T, F>(&self, doing: &'static str, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    {
        crate::meter::call(doing, self.writer.call(doing, verb)).await
    }

    async fn read<T, F>(&self, doing: &'static str, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    {
        let reader = self.reader.as_ref().unwrap_or(&self.writer);
        crate::meter::call(doing, reader.call(doing, verb)).await
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn insight(&self) -> &dyn super::insight::Insight {
        self
    }

    fn audit(&self) -> &dyn super::audit::Audit {
        self
    }

    fn schedules(&self) -> &dyn super::schedules::Schedules {
        self
    }

    fn transactions(&self) -> Option<&dyn Transactions> {
        None
    }

    fn statements(&self) -> Option<Statements> {
        // Into a store in memory no other connection can look.
        self.reader.as_ref().map(|_| Statements {
            database: Database::Sqlite,
            submit: sql!("submit_within").to_owned(),
            outcome: Some(sql!("submit_outcome")),
            finish: sql!("finish_within").to_owned(),
        })
    }

    async fn submit_portion(&self, jobs: Vec<NewJob>, mut leg: Leg) -> Result<Vec<Result<Submitted>>> {
        // One after the other they come into the queue, and stay in that order.
        leg.until_begun().await;
        self.write("submitting jobs", move |tx| {
            leg.begin();
            insert::insert(tx, &jobs)
        })
        .await
    }

    async fn take(&self, mut take: Take) -> Result<Taken> {
        self.write("taking jobs", move |tx| take::take(tx, &mut take)).await
    }

    async fn stand_by(&self, take: Take, until: BoxFuture<'_, ()>) -> Result<Stood> {
        self.writer.stand_by(take, until).await
    }

    async fn grab(&self, executor: Uuid, number: i64, id: JobId) -> Result<Option<Claimed>> {
        self.write("taking a parked job", move |tx| grab::grab(tx, executor, number, id))
            .await
    }

    async fn admit(&self, rate: &KeyRate, back: bool) -> Result<Option<Duration>> {
        let rate = rate.clone();
        self.write("keeping a rate", move |tx| settings::admit(tx, &rate, back))
            .await
    }

    async fn start(&self, executor: Uuid, jobs: Vec<Start>) -> Result<Vec<(JobId, Settled)>> {
        self.write("marking jobs as running", move |tx| settle::start(tx, executor, &jobs))
            .await
    }

    async fn settle(&self, executor: Uuid, jobs: Vec<Settle>) -> Result<Vec<Settled>> {
        self.write("settling jobs", move |tx| settle::settle(tx, executor, &jobs))
            .await
    }

    async fn change(&self, which: Which, event: Event) -> Result<Vec<Changed>> {
        self.write("changing jobs", move |tx| change::change(tx, which, event))
            .await
    }

    async fn rewrite(&self, ids: Vec<JobId>, to: Rewrite) -> Result<Vec<Changed>> {
        self.write("rewriting jobs", move |tx| change::rewrite(tx, &ids, &to))
            .await
    }

    async fn promote(&self, limit: u32) -> Result<Promoted> {
        self.write("promoting due jobs", move |tx| change::promote(tx, limit))
            .await
    }

    async fn get(&self, ids: &[JobId]) -> Result<Vec<Job>> {
        let ids = ids.to_vec();
        self.read("reading jobs", move |tx| read::get(tx, &ids, false)).await
    }

    async fn get_brief(&self, ids: &[JobId]) -> Result<Vec<Job>> {
        let ids = ids.to_vec();
        self.read("reading jobs", move |tx| read::get(tx, &ids, true)).await
    }

    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>> {
        self.read("reading attempts", move |tx| attempts::attempts(tx, job))
            .await
    }

    async fn prune(&self) -> Result<u64> {
        self.forget_old().await
    }

    async fn forget(&self) -> Result<u64> {
        self.forget_soon().await
    }
}

#[async_trait]
impl Wake for SqliteStore {
    fn signals(&self) -> broadcast::Receiver<Signal> {
        self.signals.subscribe()
    }

    fn serves(&self) -> bool {
        true
    }
}
