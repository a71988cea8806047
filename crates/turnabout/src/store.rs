//! The store: where jobs live. One trait, two implementations, one conformance suite.
//!
//! [`Store`] has the verbs of a job's life. What stands beside that life is in small traits, a file each, which it joins:
//!
//! | trait | what it is for |
//! |---|---|
//! | [`Executors`] | who runs jobs: registration, heartbeat, the lease, shared accounts |
//! | [`Wake`] | how those who wait learn that something happened |
//! | [`Reporting`] | what handlers tell of themselves: progress and logs |
//! | [`OwedHooks`] | hooks that are noted and have not run yet |
//! | [`Configuration`] | settings of groups and tasks, published tasks |
//! | [`Overview`] | lists and sums, for those who look after the whole |
//! | [`Hints`] | which jobs have changed, for those who follow many |
//! | [`Schedules`] | jobs that come again and again; by [`Store::schedules`] |
//! | [`Transactions`] | of handlers and callers, where a store has them; by [`Store::transactions`] |
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

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use uuid::Uuid;

use crate::clock::Clock;
use crate::error::Result;
use crate::group::KeyRate;
use crate::hook::Hooks;
#[cfg(feature = "postgres")]
pub(crate) use crate::job::LONGEST;
use crate::job::{Attempt, Claimed, Described, Job, JobId};
use crate::lifecycle::{self, Change, Event, Policy, Refusal, Standing, decide};
use crate::progress::Shown;

pub mod audit;
mod executors;
mod hints;
mod hooks;
mod ids;
pub mod insight;
mod new_job;
mod options;
pub mod overview;
mod relay;
pub mod schedules;
mod settings;
mod signal;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod statements;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod swept;
mod take;
mod telling;
mod transactions;

pub use executors::{Beat, ExecutorInfo, Executors};
pub(crate) use hints::HINTS_KEPT;
pub use hints::{Hint, Hints, Watched};
pub use hooks::OwedHooks;
pub use ids::{IdLock, Occupied};
pub(crate) use new_job::check_time;
pub use new_job::{MaxUnfinished, NewJob, Submitted};
pub use options::{SchemaStatus, StoreOptions};
pub use overview::{Counts, Filter, Overview, Standpoint};
pub use relay::{Leg, Relay};
pub use schedules::Schedules;
pub use settings::{Configuration, Setting};
pub use signal::{Signal, Wake};
pub use statements::{Database, Statements};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) use swept::{OVERLAP, Swept};
pub use take::{Stood, Take, Taken};
pub use telling::{LogEnd, LogLines, Report, Reporting};
pub use transactions::Transactions;

/// Where jobs live: the verbs of a job's life. Most work on batches. The traits that it joins stand beside that life.
#[async_trait]
pub trait Store:
    Executors + Reporting + OwedHooks + Configuration + Overview + Hints + Wake + Send + Sync + 'static
{
    /// The clock that counts.
    fn clock(&self) -> &Clock;

    /// The schedules beside the jobs. Not joined, since their verbs are called the same as those of jobs.
    fn schedules(&self) -> &dyn Schedules;

    /// What operators ask on a bad day.
    fn insight(&self) -> &dyn insight::Insight;

    /// Who did what, and when.
    fn audit(&self) -> &dyn audit::Audit;

    /// Transactions of handlers and callers, where the store has such a thing.
    fn transactions(&self) -> Option<&dyn Transactions>;

    /// What other drivers run inside transactions of their own, where another connection can see the jobs at all.
    fn statements(&self) -> Option<Statements> {
        None
    }

    /// Stores jobs; one outcome for each, in their order. An error on one does not touch the others.
    async fn submit(&self, jobs: Vec<NewJob>) -> Result<Vec<Result<Submitted>>> {
        self.submit_portion(jobs, Leg::whole()).await
    }

    /// As [`Store::submit`], for a portion of a large one: nobody sees its jobs before those of the portion before.
    async fn submit_portion(&self, jobs: Vec<NewJob>, leg: Leg) -> Result<Vec<Result<Submitted>>>;

    /// Hands ready jobs to an executor, fairly.
    async fn take(&self, take: Take) -> Result<Taken>;

    /// Leaves a take with the store, for an executor that has found nothing: it is answered when something may be ready for
    /// it, or when `until` is over, whichever comes first. Nothing is missed between this call and the take before it, and
    /// no job is lost when both come at once. Dropped, it is as if it had never been called, unless jobs are just being taken:
    /// those are given back by the next heartbeat, as after a take that is dropped.
    async fn stand_by(&self, take: Take, until: BoxFuture<'_, ()>) -> Result<Stood>;

    /// Hands a parked job to an executor before it is due, if nobody holds it and no cap or pause stands in the way.
    async fn grab(&self, executor: Uuid, number: i64, id: JobId) -> Result<Option<Claimed>>;

    /// Whether a job with this key may start now, by the rate of the key: `None`, and the start counts. If not, for how long to
    /// put it off. `back`: it was put off before.
    async fn admit(&self, rate: &KeyRate, back: bool) -> Result<Option<Duration>>;

    /// Marks held jobs as running. Returns those that are no longer held by that claim or are being cancelled; jobs that
    /// have ended meanwhile by this very claim are passed over.
    async fn start(&self, executor: Uuid, jobs: Vec<Start>) -> Result<Vec<(JobId, Settled)>>;

    /// Writes what became of held jobs; one answer for each, in their order.
    async fn settle(&self, executor: Uuid, jobs: Vec<Settle>) -> Result<Vec<Settled>>;

    /// Something happens to jobs: each is read, decided on and written in one transaction. Jobs that do not exist
    /// are left out of the answer.
    async fn change(&self, which: Which, event: Event) -> Result<Vec<Changed>>;

    /// Writes another queue or other arguments into jobs that nobody holds; the answer is as that of [`Store::change`]. One
    /// that is ready comes to the end of its lane in another queue.
    async fn rewrite(&self, ids: Vec<JobId>, to: Rewrite) -> Result<Vec<Changed>>;

    /// Moves up to `limit` parked jobs that are due into their lanes.
    async fn promote(&self, limit: u32) -> Result<Promoted>;

    /// Jobs by id, in the given order; those that do not exist are left out.
    async fn get(&self, ids: &[JobId]) -> Result<Vec<Job>>;

    /// The same without arguments and results, which may be large: they are not even held in memory.
    async fn get_brief(&self, ids: &[JobId]) -> Result<Vec<Job>> {
        let mut jobs = self.get(ids).await?;
        jobs.iter_mut().for_each(Job::shorten);
        Ok(jobs)
    }

    /// The attempts of a job that were not its last, oldest first, and of very many the newest.
    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>>;

    /// Forgets ended jobs that are kept for minutes only and are past their time. Returns how many. Called every few seconds
    /// by every executor; costs nothing where no job is kept so shortly.
    async fn forget(&self) -> Result<u64>;

    /// Forgets all ended jobs that are past their time ([`crate::retention`]), accounts out of use, and the like. Returns how
    /// many jobs were forgotten. Called now and then by every executor.
    async fn prune(&self) -> Result<u64>;
}

/// A job that an executor holds has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The job.
    pub id: JobId,
    /// The number of the claim by which it is held.
    pub number: i64,
    /// Its attempts, with this one.
    pub attempts: u32,
    /// When, by [`Insight::moment`](insight::Insight::moment): marks are gathered, and jobs sort as they really started.
    pub at: Timestamp,
}

impl Start {
    /// The start of a job in hand.
    pub fn of(job: &Claimed, at: Timestamp) -> Self {
        Self {
            id: job.id,
            number: job.number,
            attempts: crate::lifecycle::next_attempt(job.attempts),
            at,
        }
    }
}

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
    /// When the attempt started, by [`Insight::moment`](insight::Insight::moment). None: it did not.
    pub started: Option<Timestamp>,
    /// The hooks that the job's task has: what they are owed by this change is noted with it.
    pub hooks: Hooks,
    /// Whether the attempt has ever reported its progress, which is now to be forgotten.
    pub reported: bool,
    /// How far the attempt came: kept of a job that ends without success.
    pub came: Option<Shown>,
}

impl Settle {
    /// How far a job came that ends by this without success.
    pub(crate) fn kept_progress(&self) -> Option<&Shown> {
        let kept = lifecycle::keeps_progress(&self.change);
        self.came.as_ref().filter(|_| kept)
    }
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

/// What is written into jobs that nobody holds. What is not said stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// Another queue.
    pub queue: Option<String>,
    /// Other arguments, as JSON text.
    pub args: Option<String>,
}

impl Rewrite {
    /// What this makes of a job: where it goes on its way to another queue, or that it stays where it is.
    pub(crate) fn decide(&self, job: &Job) -> std::result::Result<Change, Refusal> {
        let moves = self.queue.as_ref().is_some_and(|queue| *queue != job.queue);
        let aside = decide(
            &job.standing(),
            &Event::Postpone(Duration::ZERO),
            &Policy::default(),
            0.0,
        )?;
        Ok(match job.lane {
            Some(_) if moves => aside,
            Some(lane) => Change {
                place: lifecycle::Location::Ready(lane),
                ..aside
            },
            None => Change {
                place: lifecycle::Location::StillParked,
                ..aside
            },
        })
    }
}

/// What an event did to a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The job as it was before.
    pub job: Job,
    /// What it became, or why nothing changed.
    pub outcome: std::result::Result<Change, Refusal>,
}

impl Changed {
    /// The job as it was, and what it became, if it was changed.
    pub(crate) fn done(&self) -> Option<(&Job, &Change)> {
        Some((&self.job, self.outcome.as_ref().ok()?))
    }
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

/// What becomes of a parked job that an executor takes before it is due. `None`: it is not parked.
pub(crate) fn grabbed(job: &Standing) -> Option<Change> {
    let promoted = decide(job, &Event::Promote, &Policy::default(), 0.0).ok()?;
    decide(&promoted.standing(), &Event::Claim, &Policy::default(), 0.0).ok()
}

/// A given id's time may be so long ago.
pub(crate) const ID_PAST: Duration = Duration::from_hours(7 * 24);
/// A given id's time may be so far ahead.
pub(crate) const ID_AHEAD: Duration = Duration::from_hours(24);

/// What executors are called is kept for so long after they registered, and while they are there.
pub(crate) const NAMES_KEPT: Duration = Duration::from_hours(400 * 24);

/// So many attempts are kept of a job, besides the last.
pub(crate) const ATTEMPTS_KEPT: u32 = 100;
