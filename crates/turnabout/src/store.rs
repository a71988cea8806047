//! The store: where jobs live. One trait, two implementations, one conformance suite.
//!
//! Every verb works on batches and is atomic: it happens whole or not at all. No verb contains a rule: what a job may
//! become is decided by [`lifecycle::decide`](crate::lifecycle::decide), who is next by [`Round`](crate::turn::Round);
//! stores call those inside their transactions and write what they say.

#[cfg(test)]
pub(crate) mod conformance;
#[cfg(test)]
pub(crate) mod model;
#[cfg(feature = "postgres")]
pub mod postgres;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::group::{Cap, GroupSettings, Settings, TaskLimits};
use crate::hook::{Hooks, Owed};
#[cfg(feature = "postgres")]
pub(crate) use crate::job::LONGEST;
use crate::job::{Attempt, Claimed, Described, Job, JobId, State};
use crate::lifecycle::{Change, Event, Policy, Refusal, Standing, decide};
use crate::log::Line;
use crate::task::{Isolation, TaskSettings};
use crate::transaction::Transaction;
use crate::turn::Charge;

pub mod audit;
mod ids;
pub mod insight;
mod new_job;
mod options;
pub mod overview;
mod relay;
pub mod schedules;
mod signal;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod take;
mod telling;

pub use ids::{IdLock, Occupied};
pub use new_job::{MaxUnfinished, NewJob, Submitted};
pub use options::{SchemaStatus, StoreOptions};
pub use relay::{Leg, Relay};
pub use signal::Signal;
pub use take::{Stood, Take, Taken};
pub use telling::{LogEnd, LogLines, Report};

/// A change that an executor wants to write to a job that it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Settle {
    /// The job.
    pub id: JobId,
    /// The number of the claim by which it is held.
    pub number: i64,
    /// What [`decide`] said.
    pub change: Change,
    /// Whether `change` was decided on a job that is being cancelled. The store writes it only if that is still so.
    pub cancelling: bool,
    /// What the handler returned, as JSON text.
    pub result: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// What went wrong, for people.
    pub described: Described,
    /// How long ago the attempt started.
    pub ran: Option<Duration>,
    /// The hooks that the job's task has: what they are owed by this change is noted with it.
    pub hooks: Hooks,
    /// Whether the attempt has ever reported its progress, which is now to be forgotten.
    pub reported: bool,
}

/// What came of a [`Settle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is written (now, or by an earlier call whose reply was lost).
    Done,
    /// A cancel was requested since: decide again.
    Cancelling,
    /// The job is no longer held by this claim: the attempt counts for nothing.
    Lost,
}

/// Which jobs an event happens to.
#[derive(Clone, Debug, PartialEq)]
pub enum Which {
    /// These, unfinished or ended.
    Ids(Vec<JobId>),
    /// Those that are waiting past their expiry, so many at the most.
    Expired(u32),
}

/// What an event did to a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The job as it was before.
    pub job: Job,
    /// What it became, or why nothing changed.
    pub outcome: std::result::Result<Change, Refusal>,
}

/// What promoting did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promoted {
    /// How many jobs became ready.
    pub jobs: u32,
    /// How long until the next parked job is due, by the store's clock. Zero: there are more already.
    pub next: Option<Duration>,
    /// How long until the next schedule is due. Zero: one is.
    pub schedules: Option<Duration>,
}

/// An executor as the store knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutorInfo {
    /// Random, new at each registration.
    pub incarnation: Uuid,
    /// Its name for people.
    pub name: String,
    /// How many jobs it runs at a time.
    pub slots: u32,
    /// Its queues.
    pub queues: Vec<String>,
    /// The tasks that it knows.
    pub tasks: Vec<String>,
    /// The program's version.
    pub version: String,
    /// Grows with each heartbeat.
    pub beat: i64,
}

/// What a heartbeat brings back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beat {
    /// Whether the executor is still registered. If not, its lease has ended: stop everything, register anew.
    pub alive: bool,
    /// What the store sees in its hands: job, claim number, whether a cancel was requested.
    pub held: Vec<(JobId, i64, bool)>,
    /// All registered executors and their heartbeat numbers, to notice who falls silent.
    pub peers: Vec<(Uuid, i64)>,
    /// Whether it is to take no more jobs.
    pub draining: bool,
}

/// Which jobs to list. Everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// In one of these states (empty: any).
    pub states: Vec<State>,
    /// Of this task.
    pub task: Option<String>,
    /// Of this group.
    pub group: Option<String>,
    /// Of this owner.
    pub owner: Option<String>,
    /// In this queue.
    pub queue: Option<String>,
    /// Whose subject contains this text. Of letters, a to z and A to Z are the same.
    pub subject: Option<String>,
    /// Submitted then or later.
    pub since: Option<Timestamp>,
    /// Submitted before then.
    pub until: Option<Timestamp>,
    /// Older than this one: the cursor of the next page.
    pub before: Option<JobId>,
    /// How many at the most.
    pub limit: u32,
}

impl Filter {
    /// Where ids can be that match: from the first (included) to the second (not). A given id may be older than its job, or
    /// a little ahead of it.
    pub(crate) fn range(&self) -> (Option<JobId>, Option<JobId>) {
        let floor = self
            .since
            .map(|since| JobId::floor(crate::clock::before(since, ID_PAST)));
        let ceiling = self
            .until
            .map(|until| JobId::floor(crate::clock::after(until, ID_AHEAD)));
        (floor, ceiling.into_iter().chain(self.before).min())
    }
}

/// What a setting is about, and what it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A group's; the defaults forget it.
    Group(String, GroupSettings),
    /// A task's; the defaults forget it.
    Task(String, TaskLimits),
}

/// How many jobs, by state: for operators, and for tests that wait until all is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Waiting and ready.
    pub ready: u64,
    /// Waiting or stuck, and parked.
    pub parked: u64,
    /// Scheduled or running.
    pub held: u64,
    /// Success, failed or cancelled, as far as they are kept.
    pub ended: u64,
}

/// Why a waiting job waits; see [`crate::Jobs::explain`].
#[derive(Clone, Debug, PartialEq)]
pub struct Standpoint {
    /// The job.
    pub job: Job,
    /// Ready jobs of its group, lane, queue and task before it (counted up to a limit).
    pub ahead: u64,
    /// Groups with ready jobs in its queue (counted up to a limit).
    pub groups: u64,
    /// Jobs in executors' hands under the caps that it is subject to.
    pub running: Vec<(Cap, u32, u32)>,
    /// When one of the executors was last heard of that would take it: those that serve its queue, know its task and were
    /// not told to take no more. None: there is none.
    pub heard: Option<Timestamp>,
    /// What is set for its group and task.
    pub settings: (GroupSettings, TaskLimits),
}

/// Where jobs live. About twenty verbs, each on batches; what stands beside a job's life is in [`overview`].
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// The clock that counts.
    fn clock(&self) -> &Clock;

    /// What those ask who look after the whole, or follow many jobs.
    fn overview(&self) -> &dyn overview::Overview;

    /// What operators ask on a bad day.
    fn insight(&self) -> &dyn insight::Insight;

    /// Who did what, and when.
    fn audit(&self) -> &dyn audit::Audit;

    /// The schedules beside the jobs.
    fn schedules(&self) -> &dyn schedules::Schedules;

    /// A new receiver of signals.
    fn signals(&self) -> broadcast::Receiver<Signal>;

    /// The SQL function that stores one job inside a caller's own transaction, if the store has such a thing.
    fn submit_function(&self) -> Option<String> {
        None
    }

    /// Stores jobs; one outcome for each, in their order. An error on one does not touch the others.
    async fn submit(&self, jobs: Vec<NewJob>) -> Result<Vec<Result<Submitted>>>;

    /// So many jobs are the next portion of a large submit of which so many are on their way: few enough to go on to the next
    /// soon, and so many that what a commit costs, and what each stream that gets some of them costs, is shared.
    fn portion(&self, _sent: usize) -> usize {
        10_000
    }

    /// As [`Store::submit`], for a portion of a large one: nobody sees its jobs before those of the portion before.
    async fn submit_portion(&self, jobs: Vec<NewJob>, mut leg: Leg) -> Result<Vec<Result<Submitted>>> {
        leg.until_over().await;
        self.submit(jobs).await
    }

    /// Hands ready jobs to an executor, fairly.
    async fn take(&self, take: Take) -> Result<Taken>;

    /// Whether the store takes jobs for those who [`stand_by`](Store::stand_by), as soon as any are ready. Where it does,
    /// they need not be woken by [`Signal::Ready`].
    fn serves(&self) -> bool {
        false
    }

    /// Leaves a take with the store, for an executor that has found nothing: it is answered when something may be ready for
    /// it, or when `until` is over, whichever comes first. Nothing is missed between this call and the take before it, and
    /// no job is lost when both come at once. Dropped, it is as if it had never been called, unless jobs are just being taken:
    /// those are given back by the next heartbeat, as after a take that is dropped.
    async fn stand_by(&self, take: Take, until: BoxFuture<'_, ()>) -> Result<Stood> {
        until.await;
        Ok(Stood::Recalled(take.turns))
    }

    /// Hands a parked job to an executor before it is due, if nobody holds it and no cap or pause stands in the way.
    async fn grab(&self, executor: Uuid, number: i64, id: JobId) -> Result<Option<Claimed>>;

    /// Marks held jobs as running: id, claim number, attempts after the start. Returns those that are no longer held
    /// by that claim or are being cancelled; jobs that have ended meanwhile by this very claim are passed over.
    async fn start(&self, executor: Uuid, jobs: Vec<(JobId, i64, u32)>) -> Result<Vec<(JobId, Settled)>>;

    /// Writes what became of held jobs; one answer for each, in their order.
    async fn settle(&self, executor: Uuid, jobs: Vec<Settle>) -> Result<Vec<Settled>>;

    /// Writes how far held jobs are, for those who look. Need not survive a crash of the store; for a job that is no longer
    /// held by that claim nothing is written.
    async fn report(&self, executor: Uuid, reports: Vec<Report>) -> Result<()>;

    /// Adds lines to the logs of held jobs, or of jobs that have ended by that very claim. Lines that are there already are
    /// passed over, and so are those of jobs that others hold.
    async fn log(&self, executor: Uuid, logs: Vec<LogLines>) -> Result<()>;

    /// What the logs of these jobs hold; one answer for each, in their order.
    async fn log_ends(&self, jobs: &[JobId]) -> Result<Vec<LogEnd>>;

    /// The lines of a job's log after this number, in order.
    async fn lines(&self, job: JobId, after: i64, limit: u32) -> Result<Vec<Line>>;

    /// The attempts of a job that were not its last, oldest first, and of very many the newest.
    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>>;

    /// Makes ready to give so many more handlers a transaction at a time, if the store can do that at all.
    fn offer_transactions(&self, _handlers: usize) -> Result<()> {
        Err(Error::invalid(
            "transaction",
            "only a PostgreSQL store can give handlers a transaction",
        ))
    }

    /// Begins a transaction for the handler of a held job.
    async fn begin(&self, _job: JobId, _isolation: Isolation) -> Result<Arc<Transaction>> {
        Err(Error::invalid("transaction", "this store has none"))
    }

    /// Ends a held job well, inside its handler's transaction, and commits both. Unless the answer is [`Settled::Done`]
    /// everything is rolled back (or, after an error, will be; should it have been committed all the same, then a later
    /// [`settle`](Store::settle) by the same claim finds it done).
    async fn conclude(&self, _executor: Uuid, _settle: &Settle, _transaction: &Transaction) -> Result<Settled> {
        Err(Error::invalid("transaction", "this store has none"))
    }

    /// Something happens to jobs: each is read, decided on and written in one transaction. Jobs that do not exist
    /// are left out of the answer.
    async fn change(&self, which: Which, event: Event) -> Result<Vec<Changed>>;

    /// Moves up to `limit` parked jobs that are due into their lanes.
    async fn promote(&self, limit: u32) -> Result<Promoted>;

    /// Makes an executor known, together with its tasks' settings.
    async fn register(&self, executor: &ExecutorInfo, kind: &str, tasks: &[TaskSettings]) -> Result<()>;

    /// Keeps an executor alive, and looks at what it holds and at the others.
    async fn heartbeat(&self, executor: Uuid, beat: i64) -> Result<Beat>;

    /// Ends an executor if its heartbeat number is (still) `beat`: what it holds is given back or ended as
    /// [`Event::Lose`] demands. Returns how many jobs that were. With an unknown executor: jobs without an executor.
    async fn reap(&self, executor: Uuid, beat: i64) -> Result<u32>;

    /// All registered executors.
    async fn executors(&self) -> Result<Vec<ExecutorInfo>>;

    /// Asks for an executor's id, which only one that lives can have.
    async fn occupy(&self, id: &str) -> Result<Occupied>;

    /// The store was out of reach: connections of before are not to be trusted.
    fn refresh(&self) {}
    /// Whether signals of other processes get through. Where they do not, the store is asked more often.
    fn hears(&self) -> bool {
        true
    }

    /// Forgets an executor that holds nothing any longer.
    async fn deregister(&self, executor: Uuid) -> Result<()>;

    /// Notes whether an executor sleeps, so that a submit knows whether anyone needs waking.
    async fn doze(&self, executor: Uuid, asleep: bool) -> Result<()>;

    /// Jobs by id, in the given order; those that do not exist are left out.
    async fn get(&self, ids: &[JobId]) -> Result<Vec<Job>>;

    /// Jobs that match, newest first.
    async fn list(&self, filter: &Filter) -> Result<Vec<Job>>;

    /// How many jobs there are.
    async fn counts(&self) -> Result<Counts>;

    /// What there is to know about why a job waits.
    async fn standpoint(&self, id: JobId) -> Result<Option<Standpoint>>;

    /// All settings.
    async fn settings(&self) -> Result<std::sync::Arc<Settings>>;

    /// Changes a setting, unless any has changed since this version of them was read. Says whether it did.
    async fn set_since(&self, version: i64, setting: Setting) -> Result<bool>;

    /// Changes a setting, whatever others change.
    async fn set(&self, setting: Setting) -> Result<()> {
        while !self.set_since(self.settings().await?.version, setting.clone()).await? {}
        Ok(())
    }

    /// All published tasks.
    async fn tasks(&self) -> Result<Vec<TaskSettings>>;

    /// Adds to the shared accounts of a kind of executors; returns what the accounts of these groups hold then.
    async fn share(&self, kind: &str, charges: Vec<Charge>) -> Result<Vec<(String, f64)>>;

    /// Hooks that are owed for jobs of these tasks, of each task only those that it has here, up to `limit`, the longest
    /// owed first. They are not given out again for so long: whoever got them should have struck them off by then.
    async fn owed(&self, tasks: &[(String, Hooks)], limit: u32, again: Duration) -> Result<Vec<Owed>>;

    /// Strikes off hooks that ran, or will not be tried again.
    async fn strike(&self, owed: Vec<i64>) -> Result<()>;

    /// Forgets jobs that ended longer ago than the retention, accounts out of use, and the like. Returns how many
    /// jobs were forgotten. Called now and then by every executor.
    async fn prune(&self) -> Result<u64>;
}

/// What becomes of a parked job that an executor takes before it is due. `None`: it is not parked.
pub(crate) fn grabbed(job: &Standing) -> Option<Change> {
    let promoted = decide(job, &Event::Promote, &Policy::default(), 0.0).ok()?;
    decide(&promoted.standing(), &Event::Claim, &Policy::default(), 0.0).ok()
}

/// A given id's time may be so long ago.
pub(crate) const ID_PAST: Duration = Duration::from_hours(7 * 24);
/// A given id's time may be so far ahead.
pub(crate) const ID_AHEAD: Duration = Duration::from_hours(24);

/// So many attempts are kept of a job, besides the last.
pub(crate) const ATTEMPTS_KEPT: u32 = 100;
