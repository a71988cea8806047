//! The store for many machines: `PostgreSQL` 14 and newer, in a schema of its own.
//!
//! One file for each part of a job's life; the SQL is in `sql/`, one statement a file. What all of them have in
//! common: names are qualified, statements are prepared once a connection, hot ones run under settings that keep
//! their plans from flipping, and what belongs together is sent in one round trip.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Pool, RecyclingMethod};
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::broadcast;
use uuid::Uuid;

use super::{
    Changed, Database, Leg, NewJob, Promoted, Rewrite, Settle, Settled, Signal, Start, Statements, Stood, Store,
    StoreOptions, Submitted, Take, Taken, Transactions, Wake, Which,
};
use crate::clock::Clock;
use crate::error::Result;
use crate::group::{KeyRate, Settings};
use crate::job::{Attempt, Claimed, Job, JobId};
use crate::lifecycle::Event;
use crate::store::Swept;
use crate::turn::Name;

mod audit;
mod change;
mod client;
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
mod names;
mod overview;
mod past;
mod pooler;
mod prune;
mod quota;
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

use client::Describer;
use connect::failed;
use holds::Holds;
use insert::together::Together;
use listen::Listener;
use quota::Quota;
use sql::Sql;
use standby::Standby;
use timeouts::{LONG_TIMEOUT, TIMEOUT};
use tls::Tls;
use waker::Waker;

/// Jobs in a `PostgreSQL` database.
pub struct PostgresStore {
    pool: Pool,
    /// The connections of heartbeats, which must go through whatever the others are busy with.
    pulse: Pool,
    /// The connections of handlers' transactions, which may be busy for long.
    handlers: Pool,
    /// Behind a pooler that hands out sessions by the transaction: who knows the types of statements, which have no names.
    describer: Option<Arc<Describer>>,
    /// How many connections there may be.
    quota: Quota,
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
    /// Up to when ended jobs were looked through.
    swept: Mutex<Swept>,
    /// Whether any group has a limit on unfinished jobs, as far as known.
    limits: AtomicBool,
    /// Small submits on their way.
    together: Together,
    /// Executors of this process that wait for jobs.
    standby: Standby,
    /// For what goes on after a caller has gone.
    me: Weak<Self>,
    listener: Listener,
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
        let (config, tls, pooler) = connect::config(url)?;
        let name = connect::name(&config);
        let server = migrate::prepare(&config, &tls, pooler, &options, &name).await?;
        let signals = broadcast::Sender::new(SIGNALS);
        let watched = Arc::new(tokio::sync::Notify::new());
        let listens = match &options.listen_url {
            Some(url) => connect::config(&url.0).map(|(config, tls, _)| Some((config, tls)))?,
            None => (!server.pooled).then(|| (config.clone(), tls.clone())),
        };
        let listener = match listens {
            Some(way) => Listener::open(way, &options.schema, signals.clone(), Arc::clone(&watched)),
            None => Listener::none(Arc::clone(&watched)),
        };
        let (feed, hints) = feed::Feed::new();
        let sql = Sql::new(&options.schema);
        let quota = Quota::new(options.connections, (!server.pooled).then_some(server.connections));
        let describer = if server.pooled {
            Some(Describer::of(&sql, &config, &tls).await?)
        } else {
            None
        };
        // Behind a pooler there is no session to prepare or to clean.
        let warm_up = (!server.pooled).then(|| connect::warm_up(sql.reserve.clone()));
        let pool = connect::pool(&config, &tls, quota.pooled(), RecyclingMethod::Fast, warm_up)?;
        let pulse = connect::pool(&config, &tls, 1, RecyclingMethod::Fast, None)?;
        // As many as handlers may ask for at a time, see `offer_transactions`. Handlers may leave things behind.
        let clean = if server.pooled {
            RecyclingMethod::Fast
        } else {
            RecyclingMethod::Clean
        };
        let handlers = connect::pool(&config, &tls, 0, clean, None)?;
        let store = Arc::new_cyclic(|me| Self {
            pool,
            pulse,
            handlers,
            describer,
            quota,
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
            swept: Mutex::default(),
            standby: Standby::default(),
            me: me.clone(),
            listener,
            waker: Arc::default(),
            feed,
        });
        tokio::spawn(timeouts::trim(Arc::downgrade(&store)));
        tokio::spawn(waker::run(Arc::downgrade(&store), Arc::clone(&store.waker)));
        tokio::spawn(feed::write(Arc::downgrade(&store), hints, watched));
        store.measure_offset().await?;
        store.look_for_watchers().await?;
        store.ensure_days().await?;
        store.read_settings().await?;
        Ok(store)
    }

    /// The schema that the tables are in.
    pub(crate) fn schema(&self) -> &str {
        &self.options.schema
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
            let asked = Timestamp::now();
            let row = client
                .query_one("select clock_timestamp()", &[])
                .await
                .map_err(&failed)?;
            let theirs = row.get::<_, Timestamp>(0).as_microsecond();
            let (least, most) = (
                theirs - Timestamp::now().as_microsecond(),
                theirs - asked.as_microsecond(),
            );
            // As it was, unless that is wrong: jobs sort by when they started, and each measurement is a little off.
            let offset = self
                .offset
                .load(Ordering::Relaxed)
                .clamp(least.min(most), most.max(least));
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
        self.quota.went(executor);
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

    fn schedules(&self) -> &dyn super::schedules::Schedules {
        self
    }

    fn transactions(&self) -> Option<&dyn Transactions> {
        Some(self)
    }

    fn statements(&self) -> Option<Statements> {
        Some(Statements {
            database: Database::Postgres,
            submit: self.sql.submit_within.clone(),
            outcome: None,
            finish: self.sql.finish_within.clone(),
        })
    }

    async fn submit_portion(&self, jobs: Vec<NewJob>, leg: Leg) -> Result<Vec<Result<Submitted>>> {
        self.within(LONG_TIMEOUT, "submitting jobs", self.insert(jobs, leg))
            .await
    }

    async fn take(&self, take: Take) -> Result<Taken> {
        self.within(TIMEOUT, "taking jobs", Box::pin(self.take_jobs(take)))
            .await
    }

    async fn stand_by(&self, take: Take, until: BoxFuture<'_, ()>) -> Result<Stood> {
        self.wait_for_jobs(take, until).await
    }

    async fn grab(&self, executor: Uuid, number: i64, id: JobId) -> Result<Option<Claimed>> {
        self.within(TIMEOUT, "taking a parked job", self.grab_parked(executor, number, id))
            .await
    }

    async fn admit(&self, rate: &KeyRate, back: bool) -> Result<Option<Duration>> {
        self.within(TIMEOUT, "keeping a rate", self.admit_by_key(rate, back))
            .await
    }

    async fn start(&self, executor: Uuid, jobs: Vec<Start>) -> Result<Vec<(JobId, Settled)>> {
        self.again("marking jobs as running", || self.mark_started(executor, jobs.clone()))
            .await
    }

    async fn settle(&self, executor: Uuid, jobs: Vec<Settle>) -> Result<Vec<Settled>> {
        self.within(TIMEOUT, "settling jobs", Box::pin(self.write_outcomes(executor, jobs)))
            .await
    }

    async fn change(&self, which: Which, event: Event) -> Result<Vec<Changed>> {
        self.again("changing jobs", || Box::pin(self.change_jobs(which.clone(), event)))
            .await
    }

    async fn rewrite(&self, ids: Vec<JobId>, to: Rewrite) -> Result<Vec<Changed>> {
        self.again("rewriting jobs", || Box::pin(self.rewrite_jobs(&ids, &to)))
            .await
    }

    async fn promote(&self, limit: u32) -> Result<Promoted> {
        self.again("promoting due jobs", || self.promote_due(limit)).await
    }

    async fn get(&self, ids: &[JobId]) -> Result<Vec<Job>> {
        self.within(TIMEOUT, "reading jobs", self.read(ids, false)).await
    }

    async fn get_brief(&self, ids: &[JobId]) -> Result<Vec<Job>> {
        self.within(TIMEOUT, "reading jobs", self.read(ids, true)).await
    }

    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>> {
        self.within(TIMEOUT, "reading attempts", self.earlier_attempts(job))
            .await
    }

    async fn forget(&self) -> Result<u64> {
        self.within(LONG_TIMEOUT, "forgetting ended jobs", self.forget_soon())
            .await
    }

    async fn prune(&self) -> Result<u64> {
        self.within(LONG_TIMEOUT, "pruning", self.prune_history()).await
    }
}

#[async_trait]
impl Wake for PostgresStore {
    fn signals(&self) -> broadcast::Receiver<Signal> {
        self.signals.subscribe()
    }

    async fn doze(&self, executor: Uuid, asleep: bool) -> Result<()> {
        self.note_sleep(executor, asleep).await
    }

    fn hears(&self) -> bool {
        self.listener.hears()
    }

    fn refresh(&self) {
        self.close_idle();
        timeouts::close_idle(&self.pulse);
    }
}
