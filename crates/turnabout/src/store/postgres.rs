//! The store for many machines: `PostgreSQL` 14 and newer, in a schema of its own.
//!
//! One file for each part of a job's life; the SQL is in `sql/`, one statement a file. What all of them have in
//! common: names are qualified, statements are prepared once a connection, hot ones run under settings that keep
//! their plans from flipping, and what belongs together is sent in one round trip.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Object, Pool, RecyclingMethod};
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::broadcast;
use uuid::Uuid;

use super::{
    Beat, Changed, Counts, ExecutorInfo, Filter, Leg, LogEnd, LogLines, NewJob, Occupied, Promoted, Report, Setting,
    Settle, Settled, Signal, Standpoint, Stood, Store, StoreOptions, Submitted, Take, Taken, Which,
};
use crate::clock::Clock;
use crate::error::Result;
use crate::group::Settings;
use crate::hook::{Hooks, Owed};
use crate::job::{Attempt, Claimed, Job, JobId};
use crate::lifecycle::Event;
use crate::log::Line;
use crate::task::{Isolation, TaskSettings};
use crate::transaction::Transaction;
use crate::turn::{Charge, Name};

mod audit;
mod change;
mod connect;
mod executors;
mod feed;
mod forget;
mod grab;
mod holds;
mod hooks;
mod ids;
mod insert;
mod insight;
mod limits;
mod listen;
mod log;
mod migrate;
mod overview;
mod prune;
mod read;
mod report;
mod rows;
mod schedules;
mod settings;
mod settle;
mod sql;
mod standby;
mod take;
#[cfg(test)]
mod tests;
mod timeouts;
pub(crate) mod tls;
mod transactions;
mod waker;

use connect::{failed, no_connection};
use holds::Holds;
use insert::together::Together;
use listen::Ear;
use sql::Sql;
use standby::Standby;
use timeouts::{MORE_PATIENCE, PATIENCE};
use tls::Tls;
use waker::Waker;

/// Jobs in a `PostgreSQL` database.
pub struct PostgresStore {
    pool: Pool,
    /// The connections of heartbeats, which must go through whatever the others are busy with.
    pulse: Pool,
    /// The connections of handlers' transactions, which may be busy for long.
    handlers: Pool,
    /// How further connections are encrypted.
    tls: Tls,
    sql: Sql,
    options: StoreOptions,
    signals: broadcast::Sender<Signal>,
    /// The server's clock minus this machine's, in microseconds: new ids carry the server's time.
    offset: AtomicI64,
    /// The settings as last read.
    settings: Mutex<Arc<Settings>>,
    /// For each executor whose turns go by cost: the group up to which all have had enough.
    behind: Mutex<foldhash::HashMap<Uuid, Name>>,
    /// Which claims of executors of this process have jobs left.
    holds: Holds,
    /// Up to which transaction this process has forgotten arrivals.
    pruned: Mutex<String>,
    /// Whether any group has a limit on unfinished jobs, as far as known.
    limits: AtomicBool,
    /// Small submits on their way.
    together: Together,
    /// Executors of this process that wait for jobs.
    standby: Standby,
    /// For what goes on after a caller has gone.
    me: Weak<Self>,
    ear: Ear,
    /// What other processes are told.
    waker: Arc<Waker>,
    feed: feed::Feed,
}

/// So many signals wait for a slow receiver; past that it is told that some are missing, and looks for itself.
const SIGNALS: usize = 4096;

impl PostgresStore {
    /// Opens the store: connects, brings the schema up to date, begins to listen.
    pub async fn open(url: &str, options: StoreOptions) -> Result<Arc<Self>> {
        sql::check_schema(&options.schema)?;
        let (config, tls) = connect::config(url)?;
        let name = connect::name(&config);
        migrate::prepare(&config, &tls, &options, &name).await?;
        let signals = broadcast::Sender::new(SIGNALS);
        let watched = Arc::new(tokio::sync::Notify::new());
        let ear = Ear::open(
            (config.clone(), tls.clone()),
            &options.schema,
            signals.clone(),
            Arc::clone(&watched),
        );
        let (feed, hints) = feed::Feed::new();
        let sql = Sql::new(&options.schema);
        let warm_up = connect::warm_up(sql.reserve.clone());
        let pool = connect::pool(
            &config,
            &tls,
            timeouts::pooled(&options),
            RecyclingMethod::Fast,
            Some(warm_up),
        )?;
        let pulse = connect::pool(&config, &tls, 2, RecyclingMethod::Fast, None)?;
        // As many as handlers may ask for at a time, see `offer_transactions`. Handlers may leave things behind.
        let handlers = connect::pool(&config, &tls, 0, RecyclingMethod::Clean, None)?;
        let store = Arc::new_cyclic(|me| Self {
            pool,
            pulse,
            handlers,
            tls,
            sql,
            options,
            signals,
            offset: AtomicI64::new(0),
            settings: Mutex::default(),
            behind: Mutex::default(),
            limits: AtomicBool::new(false),
            together: Together::default(),
            holds: Holds::default(),
            pruned: Mutex::new("0".to_owned()),
            standby: Standby::default(),
            me: me.clone(),
            ear,
            waker: Arc::default(),
            feed,
        });
        tokio::spawn(timeouts::trim(Arc::downgrade(&store)));
        tokio::spawn(waker::run(Arc::downgrade(&store), Arc::clone(&store.waker)));
        tokio::spawn(feed::write(Arc::downgrade(&store), hints, watched));
        store.measure_offset().await?;
        store.look_for_watchers().await?;
        store.ensure_days().await?;
        Ok(store)
    }

    /// The schema that the tables are in.
    pub(crate) fn schema(&self) -> &str {
        &self.options.schema
    }

    async fn client(&self) -> Result<Object> {
        match self.pool.get().await {
            Err(error) if connect::refusal(&error).is_some() => self.make_do(error).await,
            got => got.map_err(no_connection),
        }
    }

    /// A second connection for one who holds one already: only if one is free, since two who wait for each other's
    /// would wait for long.
    async fn spare_client(&self) -> Option<Object> {
        let mut timeouts = self.pool.timeouts();
        timeouts.wait = Some(std::time::Duration::ZERO);
        self.pool.timeout_get(&timeouts).await.ok()
    }

    /// The server's time, as near as this machine can tell.
    fn now(&self) -> Timestamp {
        self.options.clock.manual().unwrap_or_else(|| {
            let micros = Timestamp::now().as_microsecond() + self.offset.load(Ordering::Relaxed);
            Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
        })
    }

    async fn measure_offset(&self) -> Result<()> {
        if self.options.clock.manual().is_none() {
            let failed = failed("asking for the time");
            let client = self.client().await?;
            let row = client
                .query_one("select clock_timestamp()", &[])
                .await
                .map_err(&failed)?;
            let theirs: Timestamp = row.get(0);
            let offset = theirs.as_microsecond() - Timestamp::now().as_microsecond();
            self.offset.store(offset, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Tells this process at once; the others learn by `NOTIFY`.
    fn signal(&self, signal: Signal) {
        // No receiver: nobody waits.
        let _ = self.signals.send(signal);
    }

    /// Jobs are ready, as of a commit: executors of this process are told at once, others by a message.
    fn made_ready(&self) {
        self.signal(Signal::Ready);
        self.waker.ready();
    }

    /// An executor goes: so does what is remembered of it.
    fn forget_executor(&self, executor: Uuid) {
        self.holds.drop(executor);
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn clock(&self) -> &Clock {
        &self.options.clock
    }

    fn insight(&self) -> &dyn super::insight::Insight {
        self
    }

    fn audit(&self) -> &dyn super::audit::Audit {
        self
    }

    fn overview(&self) -> &dyn super::overview::Overview {
        self
    }

    fn schedules(&self) -> &dyn super::schedules::Schedules {
        self
    }

    fn signals(&self) -> broadcast::Receiver<Signal> {
        self.signals.subscribe()
    }

    fn submit_function(&self) -> Option<String> {
        Some(format!("{}.try_submit", self.schema()))
    }

    async fn submit(&self, jobs: Vec<NewJob>) -> Result<Vec<Result<Submitted>>> {
        self.submit_portion(jobs, Leg::whole()).await
    }

    fn portion(&self, sent: usize) -> usize {
        // The first jobs are soon there, and later ones spare commits.
        sent.clamp(1_000, 4_000)
    }

    async fn submit_portion(&self, jobs: Vec<NewJob>, leg: Leg) -> Result<Vec<Result<Submitted>>> {
        self.within(MORE_PATIENCE, "submitting jobs", self.insert(jobs, leg))
            .await
    }

    async fn take(&self, take: Take) -> Result<Taken> {
        self.within(PATIENCE, "taking jobs", Box::pin(self.take_jobs(take)))
            .await
    }

    async fn stand_by(&self, take: Take, until: BoxFuture<'_, ()>) -> Result<Stood> {
        self.wait_for_jobs(take, until).await
    }

    async fn grab(&self, executor: Uuid, number: i64, id: JobId) -> Result<Option<Claimed>> {
        self.within(PATIENCE, "taking a parked job", self.grab_parked(executor, number, id))
            .await
    }

    async fn start(&self, executor: Uuid, jobs: Vec<(JobId, i64, u32)>) -> Result<Vec<(JobId, Settled)>> {
        self.again("marking jobs as running", || self.mark_started(executor, jobs.clone()))
            .await
    }

    async fn settle(&self, executor: Uuid, jobs: Vec<Settle>) -> Result<Vec<Settled>> {
        self.within(PATIENCE, "settling jobs", Box::pin(self.write_outcomes(executor, jobs)))
            .await
    }

    async fn report(&self, executor: Uuid, reports: Vec<Report>) -> Result<()> {
        self.within(PATIENCE, "writing progress", self.write_reports(executor, reports))
            .await
    }

    async fn log(&self, executor: Uuid, logs: Vec<LogLines>) -> Result<()> {
        self.within(PATIENCE, "storing logs", self.write_logs(executor, logs))
            .await
    }

    async fn log_ends(&self, jobs: &[JobId]) -> Result<Vec<LogEnd>> {
        self.within(PATIENCE, "looking at logs", self.ends_of_logs(jobs)).await
    }

    async fn lines(&self, job: JobId, after: i64, limit: u32) -> Result<Vec<Line>> {
        self.within(PATIENCE, "reading a log", self.read_lines(job, after, limit))
            .await
    }

    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>> {
        self.within(PATIENCE, "reading attempts", self.earlier_attempts(job))
            .await
    }

    fn offer_transactions(&self, handlers: usize) -> Result<()> {
        self.handlers.resize(self.handlers.status().max_size + handlers);
        Ok(())
    }

    async fn begin(&self, job: JobId, isolation: Isolation) -> Result<Arc<Transaction>> {
        self.within(PATIENCE, "beginning a transaction", self.begin_for(job, isolation))
            .await
    }

    async fn conclude(&self, executor: Uuid, settle: &Settle, transaction: &Transaction) -> Result<Settled> {
        self.end_within(executor, settle, transaction).await
    }

    async fn change(&self, which: Which, event: Event) -> Result<Vec<Changed>> {
        self.again("changing jobs", || Box::pin(self.happen(which.clone(), event)))
            .await
    }

    async fn promote(&self, limit: u32) -> Result<Promoted> {
        self.again("promoting due jobs", || self.promote_due(limit)).await
    }

    async fn register(&self, executor: &ExecutorInfo, kind: &str, tasks: &[TaskSettings]) -> Result<()> {
        self.again("registering", || self.enrol(executor, kind, tasks)).await
    }

    async fn heartbeat(&self, executor: Uuid, beat: i64) -> Result<Beat> {
        self.beat(executor, beat).await
    }

    async fn reap(&self, executor: Uuid, beat: i64) -> Result<u32> {
        self.again("burying a silent executor", || Box::pin(self.bury(executor, beat)))
            .await
    }

    async fn executors(&self) -> Result<Vec<ExecutorInfo>> {
        self.within(PATIENCE, "looking who is there", self.all_executors())
            .await
    }

    async fn occupy(&self, id: &str) -> Result<Occupied> {
        self.occupy_id(id).await
    }

    fn refresh(&self) {
        self.close_idle();
        timeouts::close_idle(&self.pulse);
    }

    fn hears(&self) -> bool {
        self.ear.hears()
    }

    async fn deregister(&self, executor: Uuid) -> Result<()> {
        self.forget_executor(executor);
        self.note_sleep(executor, false).await?;
        // The process may be about to end.
        self.feed.catch_up().await;
        self.within(
            PATIENCE,
            "leaving",
            self.run("leaving", &self.sql.deregister, &[&executor]),
        )
        .await
    }

    async fn doze(&self, executor: Uuid, asleep: bool) -> Result<()> {
        self.note_sleep(executor, asleep).await
    }

    async fn get(&self, ids: &[JobId]) -> Result<Vec<Job>> {
        self.within(PATIENCE, "reading jobs", self.read(ids)).await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Job>> {
        self.within(PATIENCE, "listing jobs", self.page(filter)).await
    }

    async fn counts(&self) -> Result<Counts> {
        self.within(PATIENCE, "counting jobs", self.count()).await
    }

    async fn standpoint(&self, id: JobId) -> Result<Option<Standpoint>> {
        self.within(PATIENCE, "looking at why a job waits", self.look_around(id))
            .await
    }

    async fn settings(&self) -> Result<Arc<Settings>> {
        self.within(PATIENCE, "reading settings", self.read_settings()).await
    }

    async fn set_since(&self, version: i64, setting: Setting) -> Result<bool> {
        let written = self.write_setting(setting, version);
        self.within(MORE_PATIENCE, "changing a setting", written).await
    }

    async fn tasks(&self) -> Result<Vec<TaskSettings>> {
        self.within(PATIENCE, "reading tasks", self.read_tasks(None)).await
    }

    async fn share(&self, kind: &str, charges: Vec<Charge>) -> Result<Vec<(String, f64)>> {
        self.within(PATIENCE, "sharing accounts", self.share_accounts(kind, charges))
            .await
    }

    async fn owed(&self, tasks: &[(String, Hooks)], limit: u32, again: Duration) -> Result<Vec<Owed>> {
        self.within(PATIENCE, "looking for hooks", self.give_out(tasks, limit, again))
            .await
    }

    async fn strike(&self, owed: Vec<i64>) -> Result<()> {
        self.within(
            PATIENCE,
            "striking off hooks",
            self.run("striking off hooks", &self.sql.strike, &[&owed]),
        )
        .await
    }

    async fn prune(&self) -> Result<u64> {
        self.within(MORE_PATIENCE, "pruning", self.prune_history()).await
    }
}
