//! The handle that applications hold: submit, look, change.
//!
//! What is behind it (which store, where) is decided once, by [`Jobs::open`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use jiff::Timestamp;

use crate::error::{Error, Result};
use crate::group::Settings;
use crate::job::{Attempt, Job, JobId, Priority, State};
use crate::lifecycle::{Event, Location, Refusal};
use crate::store::{Changed, NewJob, Store, Which};
use crate::submit::{Expiry, ManySubmitted, Submission, Submit, Typed, submit_all};
use crate::task::{Task, TaskSettings};

mod bulk;
mod explain;
mod feed;
mod insight;
mod list;
mod logs;
mod open;
mod overview;
mod predict;
mod schedules;
mod scope;
mod set;
mod watch;
mod with;

pub use bulk::{Bulk, BulkDone};
pub use explain::{Explanation, Holder};
pub use feed::{Following, Interest, Note, Position, Told};
pub use list::{List, Page};
pub use logs::{FollowLogs, LogPage, Logs};
pub use open::Open;
pub use predict::Predicted;
pub use schedules::{FollowSchedules, PastRun, Reconciled, Schedules, SetSchedule};
pub use scope::ScopedJobs;
pub use set::{SetGlobal, SetGroup, SetQueue, SetTask};
pub use watch::Watch;
use with::{KnownTasks, States};

pub use crate::store::overview::{Counts, GroupSum, Member, Sum, Tally, Whose};
pub use crate::store::{Rewrite, SchemaStatus};

/// So many jobs are read by one call of the store.
const READ_PORTION: usize = 1000;

/// The jobs of one store. Cheap to clone; all clones share the store's connections.
#[derive(Clone)]
pub struct Jobs {
    inner: Arc<Inner>,
    states: Arc<States>,
    tasks: Arc<KnownTasks>,
}

struct Inner {
    store: Arc<dyn Store>,
    max_args: usize,
    /// When jobs expire whose submit does not say so.
    expiry: Expiry,
    /// The millisecond of the last id and its number in that, so that ids sort in the order they were made.
    last_id: AtomicU64,
    /// Made when someone first follows many jobs.
    feed: std::sync::OnceLock<feed::Feed>,
}

/// What came of a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Cancel {
    /// The job is cancelled.
    Cancelled,
    /// An executor holds the job: it was told to stop, and the job will end cancelled.
    Cancelling,
}

impl Jobs {
    /// Opens a store: `sqlite://jobs.db` (a file in the current folder), `sqlite:///var/lib/jobs.db`,
    /// `sqlite::memory:`, or `postgres://user:password@host/database`. Say more about it, then await it.
    ///
    /// ```
    /// # async fn example() -> turnabout::Result<()> {
    /// use std::time::Duration;
    /// use turnabout::Jobs;
    ///
    /// let jobs = Jobs::open("sqlite::memory:").retention(Duration::from_hours(24)).await?;
    /// # Ok(()) }
    /// ```
    pub fn open(url: impl Into<String>) -> Open {
        Open::new(url.into())
    }

    /// The jobs of a store that is open already.
    #[cfg(test)]
    pub(crate) fn on(store: Arc<dyn Store>) -> Self {
        Self::with(store, open::MAX_ARGS, Expiry::default())
    }

    pub(crate) fn with(store: Arc<dyn Store>, max_args: usize, expiry: Expiry) -> Self {
        Self {
            inner: Arc::new(Inner {
                store,
                max_args,
                expiry,
                last_id: AtomicU64::new(0),
                feed: std::sync::OnceLock::new(),
            }),
            states: Arc::default(),
            tasks: Arc::default(),
        }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Lets the task prepare a job, and checks what a caller says about it, by this store's limits and clock.
    pub(crate) async fn accept(&self, mut submission: Submission) -> Result<(NewJob, Option<Box<dyn Typed>>)> {
        if let Some(known) = self.tasks.get(submission.task()) {
            submission.recognise(known)?;
        }
        submission.expire(&self.inner.expiry);
        let task = submission.prepare(self).await?;
        let now = self.store().clock().now();
        let job = submission.check(self.inner.max_args, || self.next_id(now))?;
        Ok((job, task))
    }

    /// An id after all that were made by this handle. Where more than 4096 are made in a millisecond, the next ones are
    /// borrowed: an id may be a little ahead of its time.
    fn next_id(&self, now: Timestamp) -> JobId {
        let present = u64::try_from(now.as_millisecond()).unwrap_or(0) << 12;
        let after = |last: u64| present.max(last + 1);
        let last = self
            .inner
            .last_id
            .fetch_update(Relaxed, Relaxed, |last| Some(after(last)));
        let next = after(last.unwrap_or_else(|last| last));
        let moment = Timestamp::from_millisecond((next >> 12) as i64).unwrap_or(now);
        JobId::nth(moment, (next & 0xfff) as u16)
    }

    /// Submits a job. Say more about it, then await it.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)] struct Mail { to: String }
    /// # impl turnabout::Task for Mail { const NAME: &'static str = "mail"; }
    /// # async fn example(jobs: turnabout::Jobs) -> turnabout::Result<()> {
    /// let mail = Mail { to: "ada@example.org".into() };
    /// let job = jobs.submit(mail).group("acme").owner("charles").await?;
    /// println!("job {} is {}", job.id, if job.new { "new" } else { "known already" });
    /// # Ok(()) }
    /// ```
    pub fn submit<T: Task>(&self, task: T) -> Submit {
        self.submission(Submission::new(task))
    }

    /// Submits a job of a task known only by its name. Say more about it, then await it.
    pub fn submit_named(&self, task: impl Into<String>, args: impl serde::Serialize) -> Submit {
        self.submission(Submission::named(task, args))
    }

    pub(crate) fn submission(&self, submission: Submission) -> Submit {
        Submit::new(self.clone(), submission)
    }

    /// Submits many jobs: tasks, or [`Submission`]s where there is more to say. One outcome for each, in their
    /// order; a job that is refused does not touch the others.
    ///
    /// The more jobs a call has, the less each costs. They are stored in portions, on `PostgreSQL` of 1,000 to 4,000, on `SQLite`
    /// of 10,000, each by a commit of its own; a call that is given up in the middle leaves the first ones.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)] struct Mail { to: String }
    /// # impl turnabout::Task for Mail { const NAME: &'static str = "mail"; }
    /// # async fn example(jobs: turnabout::Jobs) -> turnabout::Result<()> {
    /// # #![deny(unused_must_use)]
    /// let mails = ["ada@example.org", "charles@example.org"].map(|to| Mail { to: to.into() });
    /// jobs.submit_all(mails).await.all()?;
    /// # Ok(()) }
    /// ```
    ///
    /// An outcome that nobody looks at is a warning of the compiler, here made an error:
    ///
    /// ```compile_fail
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)] struct Mail { to: String }
    /// # impl turnabout::Task for Mail { const NAME: &'static str = "mail"; }
    /// # async fn example(jobs: turnabout::Jobs) -> turnabout::Result<()> {
    /// # #![deny(unused_must_use)]
    /// let mails = ["ada@example.org", "charles@example.org"].map(|to| Mail { to: to.into() });
    /// jobs.submit_all(mails).await;
    /// # Ok(()) }
    /// ```
    pub async fn submit_all<I>(&self, jobs: I) -> ManySubmitted
    where
        I: IntoIterator,
        I::Item: Into<Submission>,
    {
        let submissions = jobs.into_iter().map(Into::into).collect();
        submit_all(self, submissions).await
    }

    /// A job, unfinished or ended.
    pub async fn get(&self, id: JobId) -> Result<Job> {
        self.store().get(&[id]).await?.pop().ok_or(Error::NotFound(id))
    }

    /// Jobs by id, in the given order; those that do not exist are left out.
    pub async fn get_many(&self, ids: &[JobId]) -> Result<Vec<Job>> {
        let mut jobs = Vec::with_capacity(ids.len());
        for portion in ids.chunks(READ_PORTION) {
            jobs.extend(self.store().get(portion).await?);
        }
        Ok(jobs)
    }

    /// The same without arguments and results, which may be large: in their place stand `null` and nothing.
    pub async fn get_many_brief(&self, ids: &[JobId]) -> Result<Vec<Job>> {
        let mut jobs = Vec::with_capacity(ids.len());
        for portion in ids.chunks(READ_PORTION) {
            jobs.extend(self.store().get_brief(portion).await?);
        }
        Ok(jobs)
    }

    /// Lists jobs, newest first, a page at a time. Say which, then await it.
    pub fn list(&self) -> List {
        List::new(self.clone())
    }

    /// Cancels a job, whoever owns it; for one owner's requests see [`Jobs::of_owner`]. One that waits is cancelled at once; one that an executor holds is told to stop, and will end
    /// cancelled. A job that has succeeded or failed is a [`Error::NotCancellable`]; one that is cancelled already is
    /// no error.
    pub async fn cancel(&self, id: JobId) -> Result<Cancel> {
        let changed = self.change(id, Event::Cancel).await?;
        match changed.outcome {
            Ok(change) if change.place == Location::Held => Ok(Cancel::Cancelling),
            Ok(_) => Ok(Cancel::Cancelled),
            Err(Refusal::AlreadySo) if changed.job.state.is_final() => Ok(Cancel::Cancelled),
            Err(Refusal::AlreadySo) => Ok(Cancel::Cancelling),
            Err(_) => Err(Error::NotCancellable {
                id,
                state: changed.job.state,
            }),
        }
    }

    /// Makes a job that has ended wait again, with its counters reset.
    pub async fn restart(&self, id: JobId) -> Result<()> {
        let hint = "only a job that has ended can be restarted; cancel it first";
        self.change_or(id, Event::Restart, hint).await
    }

    /// Forgets a job that has ended, or throws away one that waits or is stuck; its task's `before_delete` runs.
    pub async fn delete(&self, id: JobId) -> Result<()> {
        let hint = "a job that an executor holds cannot be deleted; cancel it first";
        self.change_or(id, Event::Delete, hint).await
    }

    /// Makes a job that waits more or less urgent. It keeps its place among the jobs of its new lane.
    pub async fn set_priority(&self, id: JobId, priority: Priority) -> Result<()> {
        let hint = "only a job that waits can change its priority";
        self.change_or(id, Event::Reprioritise(priority), hint).await
    }

    /// Has a job that waits, or is stuck, start so long from now at the earliest.
    pub async fn postpone(&self, id: JobId, delay: Duration) -> Result<()> {
        let hint = "only a job that waits or is stuck can be delayed";
        self.change_or(id, Event::Postpone(delay), hint).await
    }

    /// Gives a job that waits, or is stuck, another queue or other arguments (JSON text). In another queue it is the last of its
    /// lane. The task does not prepare the arguments before the job runs, as it does when the job is submitted.
    pub async fn rewrite(&self, id: JobId, to: Rewrite) -> Result<()> {
        self.check_rewrite(&to)?;
        let mut changed = self.store().rewrite(vec![id], to).await?;
        let changed = changed.pop().ok_or(Error::NotFound(id))?;
        match changed.outcome {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::WrongState {
                id,
                state: changed.job.state,
                hint: "only a job that waits or is stuck can be given another queue or other arguments",
            }),
        }
    }

    /// Whether this can be written into a job.
    pub(crate) fn check_rewrite(&self, to: &Rewrite) -> Result<()> {
        if let Some(queue) = &to.queue {
            crate::submit::name("queue", queue)?;
        }
        let Some(args) = &to.args else { return Ok(()) };
        crate::submit::args_length(args, self.inner.max_args)?;
        if serde_json::from_str::<serde::de::IgnoredAny>(args).is_err() || args.contains('\0') {
            return Err(Error::invalid("arguments", "they are not JSON"));
        }
        Ok(())
    }

    /// Makes a job that is parked ready at once: a stuck one is tried again now, a delayed one need not wait. Its attempts
    /// count as before. For one that is ready already there is nothing to do.
    pub async fn retry_now(&self, id: JobId) -> Result<()> {
        let changed = self.change(id, Event::Promote).await?;
        match changed.outcome {
            Ok(_) => Ok(()),
            Err(_) if changed.job.lane.is_some() => Ok(()),
            Err(_) => Err(Error::WrongState {
                id,
                state: changed.job.state,
                hint: "only a job that is stuck or delayed can be tried now; one that has ended can be restarted",
            }),
        }
    }

    async fn change_or(&self, id: JobId, event: Event, hint: &'static str) -> Result<()> {
        let changed = self.change(id, event).await?;
        match changed.outcome {
            Ok(_) | Err(Refusal::AlreadySo) => Ok(()),
            Err(_) => Err(Error::WrongState {
                id,
                state: changed.job.state,
                hint,
            }),
        }
    }

    async fn change(&self, id: JobId, event: Event) -> Result<Changed> {
        let mut changed = self.store().change(Which::Ids(vec![id]), event).await?;
        crate::meter::changed(&changed);
        changed.pop().ok_or(Error::NotFound(id))
    }

    /// Follows a job: a stream of what it becomes, from what it is now to its end.
    pub fn watch(&self, id: JobId) -> Watch {
        Watch::new(Arc::clone(self.store()), id, None)
    }

    /// What the handler of a job has written, a page at a time. Say from where, then await it.
    pub fn logs(&self, id: JobId) -> Logs {
        Logs::new(self.clone(), id, None)
    }

    /// Follows the log of a job: a stream of lines, from the first to the job's end.
    pub fn follow_logs(&self, id: JobId) -> FollowLogs {
        FollowLogs::new(Arc::clone(self.store()), id, None)
    }

    /// What became of a job's attempts, oldest first: the one that runs, or that ended it, is the last. Of very many, the
    /// newest.
    pub async fn attempts(&self, id: JobId) -> Result<Vec<Attempt>> {
        let job = self.get(id).await?;
        let mut attempts = self.store().attempts(id).await?;
        // It may have ended between the two looks, and be among the earlier ones by now.
        let last = Attempt::last(&job).filter(|last| attempts.iter().all(|earlier| earlier.claim != last.claim));
        attempts.extend(last);
        Ok(attempts)
    }

    /// Why a job waits, in plain words.
    pub async fn explain(&self, id: JobId) -> Result<Explanation> {
        let standpoint = self.store().standpoint(id).await?.ok_or(Error::NotFound(id))?;
        let now = self.store().insight().moment();
        let mut why = Explanation::new(standpoint, now);
        if matches!(why.job.state, State::Waiting | State::Stuck) {
            let (executors, held) = futures_util::try_join!(self.executors(), self.store().insight().held())?;
            why.look_at_slots(&executors, &held, now);
            if why.each_full.is_some() {
                why.look_at_each(&executors, &self.store().insight().held_by().await?, now);
            }
            let settings = self.settings().await?;
            why.predicted = predict::predict(self.store().as_ref(), &why, &executors, &settings).await?;
        }
        Ok(why)
    }

    /// Changes what is set for a group: its weight, its cap, whether it is paused. Say what, then await it.
    pub fn group(&self, group: impl Into<String>) -> SetGroup {
        SetGroup::new(self.clone(), Some(group.into()))
    }

    /// Changes what holds for every group that has no setting of its own, setting by setting: weight, limits and rate. Say what,
    /// then await it.
    pub fn group_defaults(&self) -> SetGroup {
        SetGroup::new(self.clone(), None)
    }

    /// Changes what is set for a task, beside what its code says. Say what, then await it.
    pub fn task_limits(&self, task: impl Into<String>) -> SetTask {
        SetTask::new(self.clone(), task.into())
    }

    /// Changes what is set for a queue: whether it is paused. Say so, then await it.
    pub fn queue(&self, queue: impl Into<String>) -> SetQueue {
        SetQueue::new(self.clone(), queue.into())
    }

    /// Changes what is set for everything. Say what, then await it.
    pub fn global(&self) -> SetGlobal {
        SetGlobal::new(self.clone())
    }

    /// What is set for groups, tasks, queues and everything.
    pub async fn settings(&self) -> Result<Arc<Settings>> {
        self.store().settings().await
    }

    /// The tasks that executors have made known.
    pub async fn tasks(&self) -> Result<Vec<TaskSettings>> {
        self.store().tasks().await
    }

    /// How many jobs there are.
    pub async fn counts(&self) -> Result<Counts> {
        self.store().counts().await
    }
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs").finish_non_exhaustive()
    }
}
