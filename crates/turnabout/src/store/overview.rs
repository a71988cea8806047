//! What those ask of a store who look after the whole, or follow many jobs: executors, sums, and hints of what changed.
//!
//! **Hints.** While someone watches, stores note which jobs have changed, after (or with) each change. A hint names the
//! job and no more: whoever reads it looks the job up, so that what is told is never older than what was told before.
//! Nobody watches for ever: watching is asked for again and again, and where it stops, so do the hints, and an epoch
//! ends. Hints that were lost end it, too. Within an epoch no hint is missing, except for those of a process that had
//! not heard yet of the watching, and of one that has died and ran no jobs; for these, watchers look at what they follow now
//! and then regardless.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::{ExecutorInfo, Filter};
use crate::error::Result;
use crate::job::{Brief, JobId, Priority, State};

/// Hints are kept so long.
pub(crate) const HINTS_KEPT: Duration = Duration::from_mins(5);
/// Counting stops here.
pub(crate) const COUNTED: u32 = 100_000;

/// Whose jobs are looked at. Everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whose {
    /// Those of this group.
    pub group: Option<String>,
    /// Those of this owner.
    pub owner: Option<String>,
}

impl Whose {
    /// Whether a job is among them.
    pub fn holds(&self, group: &str, owner: Option<&str>) -> bool {
        self.group.as_deref().is_none_or(|g| g == group) && (self.owner.is_none() || self.owner.as_deref() == owner)
    }
}

/// An executor as operators see it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Member {
    /// What it says of itself.
    pub info: ExecutorInfo,
    /// When it was last heard of.
    pub seen: Timestamp,
    /// How many jobs it has in hand.
    pub held: u64,
    /// Whether it was told to take no more jobs.
    pub draining: bool,
}

/// Jobs of one task and priority in one state.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sum {
    /// The task.
    pub task: String,
    /// The priority.
    pub priority: Priority,
    /// The state.
    pub state: State,
    /// How many jobs.
    pub jobs: u64,
    /// How many units of work they hold.
    pub items: u64,
    /// How many attempts of theirs have counted.
    pub attempts: u64,
    /// When the oldest was submitted.
    pub oldest: Option<Timestamp>,
    /// When the first of them that runs, or ran, was started.
    pub first_started: Option<Timestamp>,
}

impl Sum {
    /// How many attempts have failed: of those that have counted one runs, or has succeeded.
    pub fn failures(&self) -> u64 {
        match self.state {
            State::Running | State::Success => self.attempts.saturating_sub(self.jobs),
            _ => self.attempts,
        }
    }
}

/// The unfinished jobs of one group.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GroupSum {
    /// The group.
    pub group: String,
    /// Waiting and ready.
    pub ready: u64,
    /// Waiting or stuck, and parked.
    pub parked: u64,
    /// Scheduled or running.
    pub held: u64,
    /// Units of work in all of them.
    pub items: u64,
    /// When the oldest was submitted.
    pub oldest: Option<Timestamp>,
}

/// How many jobs came and went. Each counted up to 100,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Submitted (with an id that was made since, as nearly all are).
    pub submitted: u64,
    /// Succeeded.
    pub success: u64,
    /// Failed for good.
    pub failed: u64,
    /// Cancelled.
    pub cancelled: u64,
}

/// How the hints stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Grows whenever hints may be missing.
    pub epoch: i64,
    /// The number of the newest hint.
    pub newest: i64,
    /// Hints up to this number are forgotten.
    pub forgotten: i64,
}

/// A job has changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// Grows; numbers may be missing.
    pub number: i64,
    /// The job.
    pub job: JobId,
    /// Its group.
    pub group: String,
    /// Its owner.
    pub owner: Option<String>,
    /// What it was at its end, if it was forgotten at once.
    pub last: Option<Brief>,
}

/// A key by which servers sign what they hand out, and know it again: the same for all servers of a store.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// Names the key in what it has signed. Never used again.
    pub number: i64,
    /// The key itself.
    pub secret: Vec<u8>,
    /// When it was made.
    pub made: Timestamp,
}

/// Never shows the key.
impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey")
            .field("number", &self.number)
            .field("made", &self.made)
            .finish_non_exhaustive()
    }
}

/// What those ask of a store who look after the whole, or follow many jobs.
#[async_trait]
pub trait Overview: Send + Sync {
    /// All registered executors, by name.
    async fn executors(&self) -> Result<Vec<Member>>;

    /// Notes that an executor is to take no more jobs, or that it may again; its next heartbeat tells it. Says whether there
    /// is such an executor.
    async fn drain(&self, executor: Uuid, drain: bool) -> Result<bool>;

    /// Jobs by task, priority and state: the unfinished ones, and those that have ended since.
    async fn sums(&self, whose: &Whose, since: Timestamp) -> Result<Vec<Sum>>;

    /// Groups with unfinished jobs after this one, by name.
    async fn groups(&self, whose: &Whose, after: &str, limit: u32) -> Result<Vec<GroupSum>>;

    /// How many jobs match, up to the filter's limit.
    async fn count(&self, filter: &Filter) -> Result<u64>;

    /// How many jobs were submitted and have ended since.
    async fn tally(&self, whose: &Whose, since: Timestamp) -> Result<Tally>;

    /// Someone watches, for so long at least: hints are noted until then.
    async fn watch(&self, hold: Duration) -> Result<Watched>;

    /// Hints after this number, in order.
    async fn hints(&self, after: i64, limit: u32) -> Result<Vec<Hint>>;

    /// All signing keys, newest first.
    async fn keys(&self) -> Result<Vec<SigningKey>>;

    /// Forgets the signing keys that are as old as `forget` or older, adds this one if none is younger than `renew`, and
    /// says which there are then, newest first. With two zeros, only the new one is left.
    async fn renew_keys(&self, secret: &[u8], renew: Duration, forget: Duration) -> Result<Vec<SigningKey>>;
}
