//! What those ask of a store who look after the whole: lists, executors, sums.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::{ExecutorInfo, ID_AHEAD, ID_PAST};
use crate::error::Result;
use crate::group::{Cap, GlobalSettings, GroupSettings, QueueSettings, Rate, TaskLimits};
use crate::job::{Job, JobId, Meta, Priority, Reason, State};

/// Counting stops here.
pub(crate) const COUNTED: u32 = 100_000;

/// Whose jobs are looked at. Everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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
    /// For this reason in their state.
    pub reason: Option<Reason>,
    /// Whose last error has this code.
    pub code: Option<String>,
    /// Submitted by the handler of this job, or by someone who said so.
    pub parent: Option<JobId>,
    /// Held by this executor (its incarnation), or ended by it.
    pub executor: Option<Uuid>,
    /// With so many attempts, or more.
    pub attempts: Option<u32>,
    /// With these entries in their meta.
    pub meta: Meta,
    /// But not these.
    pub not: Not,
    /// Older than this one: the cursor of the next page.
    pub before: Option<JobId>,
    /// Not older than this one: where a walk ends that may not go on for long.
    pub from: Option<JobId>,
    /// How many at the most.
    pub limit: u32,
    /// Whether arguments and results are left out.
    pub brief: bool,
}

/// Which jobs are left out of a list: those of which any of this holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Not {
    /// Of this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Of this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Of this owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// In this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Whose last error has this code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// For this reason in their state, by its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<i16>,
}

impl Not {
    fn includes(&self, job: &Job) -> bool {
        let is = |wanted: &Option<String>, is: Option<&str>| wanted.is_some() && wanted.as_deref() == is;
        is(&self.task, Some(&job.task))
            || is(&self.group, Some(&job.group))
            || is(&self.owner, job.owner.as_deref())
            || is(&self.queue, Some(&job.queue))
            || is(&self.code, job.error_code.as_deref())
            || self.reason.is_some() && self.reason == job.reason.map(Reason::code)
    }
}

impl Filter {
    /// What is to be in the meta, and what is left out, as JSON: what the stores' statements are told.
    pub(crate) fn as_json(&self) -> (Option<String>, Option<String>) {
        let meta = (!self.meta.is_empty()).then(|| serde_json::to_string(&self.meta).unwrap_or_default());
        let not = (self.not != Not::default()).then(|| serde_json::to_string(&self.not).unwrap_or_default());
        (meta, not)
    }

    /// Whether it asks for this job.
    pub fn includes(&self, job: &Job) -> bool {
        let same = |wanted: &Option<String>, is: Option<&str>| wanted.is_none() || wanted.as_deref() == is;
        (self.states.is_empty() || self.states.contains(&job.state))
            && same(&self.task, Some(&job.task))
            && same(&self.group, Some(&job.group))
            && same(&self.owner, job.owner.as_deref())
            && same(&self.queue, Some(&job.queue))
            && same(&self.code, job.error_code.as_deref())
            && self.subject.as_ref().is_none_or(|text| {
                let subject = job.subject.as_deref().map(str::to_ascii_lowercase);
                subject.is_some_and(|subject| subject.contains(&text.to_ascii_lowercase()))
            })
            && self.since.is_none_or(|since| job.submitted >= since)
            && self.until.is_none_or(|until| job.submitted < until)
            && self.before.is_none_or(|before| job.id < before)
            && self.from.is_none_or(|from| job.id >= from)
            && (self.reason.is_none() || self.reason == job.reason)
            && (self.parent.is_none() || self.parent == job.parent)
            && self
                .executor
                .is_none_or(|wanted| job.claim.is_some_and(|claim| claim.executor == wanted))
            && self.attempts.is_none_or(|least| job.attempts >= least)
            && self.meta.iter().all(|(key, value)| job.meta.get(key) == Some(value))
            && !self.not.includes(job)
    }

    /// Where ids can be that match: from the first (included) to the second (not). A given id may be older than its job, or
    /// a little ahead of it.
    pub(crate) fn range(&self) -> (Option<JobId>, Option<JobId>) {
        let floor = self
            .since
            .map(|since| JobId::floor(crate::clock::before(since, ID_PAST)));
        let ceiling = self
            .until
            .map(|until| JobId::floor(crate::clock::after(until, ID_AHEAD)));
        (
            floor.into_iter().chain(self.from).max(),
            ceiling.into_iter().chain(self.before).min(),
        )
    }

    /// Whether it may ask for ended jobs, or for unfinished ones.
    pub(crate) fn wants(&self, ended: bool) -> bool {
        self.states.is_empty() || self.states.iter().any(|state| state.is_final() == ended)
    }

    /// Whether it asks for failed jobs of all groups, which have an index of their own.
    pub(crate) fn wants_failed(&self) -> bool {
        self.states == [State::Failed] && self.group.is_none()
    }

    /// Whether a list finds what matches in one place, without a look at what does not.
    pub(crate) fn is_plain(&self) -> bool {
        let Self {
            before,
            from,
            limit,
            brief,
            ..
        } = *self;
        *self
            == Self {
                before,
                from,
                limit,
                brief,
                parent: self.parent,
                ..Self::default()
            }
    }
}

/// How many jobs, by state: for operators, and for tests that wait until all is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The rates that it is subject to, and how long until each lets a job start. Zero: now.
    pub rates: Vec<(Cap, Rate, Duration)>,
    /// What is set for its queue.
    pub queue: QueueSettings,
    /// What is set for everything.
    pub global: GlobalSettings,
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

impl Member {
    /// Executors are heard of every few seconds. One that was not heard of for so long is gone, unless it was set up to be slower.
    pub const SILENT: Duration = Duration::from_secs(30);

    /// For how long it was not heard of.
    pub fn silence(&self, now: Timestamp) -> Duration {
        crate::clock::until(self.seen, now)
    }

    /// Whether it is there, and takes jobs.
    pub fn is_there(&self, now: Timestamp) -> bool {
        !self.draining && self.silence(now) < Self::SILENT
    }

    /// Whether it is there, and takes such jobs.
    pub fn takes(&self, queue: &str, task: &str, now: Timestamp) -> bool {
        let named = |names: &[String], name: &str| names.iter().any(|one| one == name);
        named(&self.info.queues, queue) && named(&self.info.tasks, task) && self.is_there(now)
    }
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
    /// How many attempts of theirs have counted. One that was cancelled does not.
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

/// What those ask of a store who look after the whole.
#[async_trait]
pub trait Overview {
    /// All registered executors, by name.
    async fn executors(&self) -> Result<Vec<Member>>;

    /// The executors of this name. What they hold is not counted, so that any number of executors can come at a time.
    async fn named(&self, name: &str) -> Result<Vec<ExecutorInfo>> {
        let all = self.executors().await?.into_iter().map(|one| one.info);
        Ok(all.filter(|one| one.name == name).collect())
    }

    /// Notes that an executor is to take no more jobs, or that it may again; its next heartbeat tells it. Says whether there
    /// is such an executor.
    async fn drain(&self, executor: Uuid, drain: bool) -> Result<bool>;

    /// Notes that an executor is to take no more jobs and to end; its next heartbeat tells it. Until then a drain that is
    /// taken back takes this back as well. Says whether there is such an executor.
    async fn dismiss(&self, executor: Uuid) -> Result<bool>;

    /// Jobs by task, priority and state: the unfinished ones, and those that have ended since.
    async fn sums(&self, whose: &Whose, since: Timestamp) -> Result<Vec<Sum>>;

    /// Failed jobs by task and priority: all that are kept. Reads them all, and nothing else.
    async fn failed_sums(&self, whose: &Whose) -> Result<Vec<Sum>>;

    /// Groups with unfinished jobs after this one, by name.
    async fn groups(&self, whose: &Whose, after: &str, limit: u32) -> Result<Vec<GroupSum>>;

    /// Jobs that match, newest first.
    async fn list(&self, filter: &Filter) -> Result<Vec<Job>>;

    /// The job before which a list looks at so many others, or twice as many: none, if there are not so many to look at.
    async fn depth(&self, filter: &Filter, looks: u32) -> Result<Option<JobId>>;

    /// How many jobs match, up to the filter's limit.
    async fn count(&self, filter: &Filter) -> Result<u64>;

    /// How many jobs there are.
    async fn counts(&self) -> Result<Counts>;

    /// What there is to know about why a job waits.
    async fn standpoint(&self, id: JobId) -> Result<Option<Standpoint>>;

    /// How many jobs were submitted and have ended since.
    async fn tally(&self, whose: &Whose, since: Timestamp) -> Result<Tally>;

    /// All signing keys, newest first.
    async fn keys(&self) -> Result<Vec<SigningKey>>;

    /// Forgets the signing keys that are as old as `forget` or older, adds this one if none is younger than `renew`, and
    /// says which there are then, newest first. With two zeros, only the new one is left.
    async fn renew_keys(&self, secret: &[u8], renew: Duration, forget: Duration) -> Result<Vec<SigningKey>>;
}
