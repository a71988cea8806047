//! What a handler is given beside its arguments.

use std::sync::{Arc, Weak};

use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;

use crate::error::{Error, Result};
use crate::executor::hand::Held;
use crate::executor::news::News;
use crate::executor::plan::Seat;
use crate::executor::registry::encode;
use crate::job::{Claim, Job, JobId, Meta, Priority};
use crate::jobs::Jobs;
use crate::log::JobLog;
use crate::progress::{Cancelled, Progress};
use crate::statement::{self, Statement, Within};
use crate::store::{Database, Start};
use crate::submit::{Submission, Submit};
use crate::task::{Args, Task};
use crate::transaction::Transaction;

/// The surroundings of one attempt: the application's state, the job, and whether it should stop.
///
/// `S` is the type given to [`Executor::state`](crate::Executor::with_state). Cheap to clone.
pub struct Context<S = ()> {
    core: Core,
    state: Arc<S>,
}

/// A context before the application's state is added, as the executor hands it to any task.
#[derive(Clone)]
pub(crate) struct Core {
    pub(crate) held: Arc<Held>,
    pub(crate) jobs: Jobs,
    pub(crate) last: bool,
    /// Says when the handler has something to tell.
    pub(crate) news: Arc<News>,
    /// The incarnation that holds the job.
    pub(crate) executor: uuid::Uuid,
    /// The seat of the slot that it runs in, if it does. Not held by whoever keeps a context.
    pub(crate) seat: Weak<OwnedSemaphorePermit>,
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only PostgreSQL has transactions for handlers")
    )]
    pub(crate) transaction: Option<Arc<Transaction>>,
}

impl<S> Context<S> {
    pub(crate) fn new(core: Core, state: Arc<S>) -> Self {
        Self { core, state }
    }

    /// The application's state.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// The job's id.
    pub fn job(&self) -> JobId {
        self.core.held.job.id
    }

    /// The job's task.
    pub fn task(&self) -> &str {
        &self.core.held.job.task
    }

    /// The job's group.
    pub fn group(&self) -> &str {
        &self.core.held.job.group
    }

    /// Who submitted the job.
    pub fn owner(&self) -> Option<&str> {
        self.core.held.job.owner.as_deref()
    }

    /// The job's priority.
    pub fn priority(&self) -> Priority {
        self.core.held.job.priority
    }

    /// How many units of work the job holds.
    pub fn items(&self) -> u32 {
        self.core.held.job.items
    }

    /// What was set beside the arguments.
    pub fn meta(&self) -> &Meta {
        &self.core.held.job.meta
    }

    /// The time of the schedule for which this job, or the one that submitted it, was submitted. None: by no schedule.
    pub fn scheduled_for(&self) -> Option<jiff::Timestamp> {
        crate::schedule::time_of(self.meta())
    }

    /// The job whose handler submitted this one.
    pub fn parent(&self) -> Option<JobId> {
        self.core.held.job.parent
    }

    /// Which attempt this is, beginning with 1.
    pub fn attempt(&self) -> u32 {
        crate::lifecycle::next_attempt(self.core.held.job.attempts)
    }

    /// Whether the job fails for good if this attempt fails.
    pub fn is_last_attempt(&self) -> bool {
        self.core.last
    }

    /// Whether the handler should stop: the job is being cancelled, its time is up, or the executor shuts down. What
    /// does not stop within the grace period is dropped.
    pub fn is_cancelled(&self) -> bool {
        self.core.held.token.is_cancelled()
    }

    /// Waits until the handler should stop.
    pub async fn cancelled(&self) {
        self.core.held.token.cancelled().await;
    }

    /// An error if the handler should stop: `cx.check_cancelled()?` between two steps of work is all that it takes.
    pub fn check_cancelled(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// How far the job is: what is reported here is seen by those who look at the job, a few times a second. Its total
    /// is 100 unless the handler sets another one.
    pub fn progress(&self) -> &Progress {
        self.core.held.progress(&self.core.news)
    }

    /// The job's log, kept with the job: see [`Jobs::logs`].
    pub fn log(&self) -> &JobLog {
        self.core.held.log(&self.core.news)
    }

    /// The transaction that the executor has begun for this attempt, since the task
    /// [declares one](crate::Task::TRANSACTION). It is committed together with the job's success when the handler has
    /// returned, and rolled back in any other case.
    ///
    /// ```no_run
    /// # use serde::{Deserialize, Serialize};
    /// use turnabout::{Context, Isolation, Task, TaskResult};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Duplicate { table: i64 }
    ///
    /// impl Task for Duplicate {
    ///     const NAME: &'static str = "duplicate";
    ///     const TRANSACTION: Option<Isolation> = Some(Isolation::RepeatableRead);
    /// }
    ///
    /// async fn duplicate(cx: Context, task: Duplicate) -> TaskResult<u64> {
    ///     let tx = cx.transaction()?;
    ///     let copied = "insert into cell select nextval('table'), cell.value from cell where table_id = $1";
    ///     Ok(tx.execute(copied, &[&task.table]).await?)
    /// }
    /// ```
    #[cfg(feature = "postgres")]
    pub fn transaction(&self) -> Result<&Transaction> {
        self.core.transaction.as_deref().ok_or_else(|| {
            Error::invalid(
                "transaction",
                format!("the task `{}` declares none; set `Task::TRANSACTION`", self.task()),
            )
        })
    }

    /// The claim by which this executor holds the job, for handlers that bring a database driver of their own: in their
    /// transaction, as its last statement, they run `select turnabout.finish($1, $2)` with the job's id and this claim
    /// (as text), commit, and return; then what they wrote and the job's success are one. If that statement fails, the
    /// job is being cancelled or was given to someone else: roll back, and return the error.
    ///
    /// Makes sure that the start is recorded, so that nothing but a cancel or a loss changes the job until then.
    pub async fn claim(&self) -> Result<Claim> {
        let Core {
            held, jobs, executor, ..
        } = &self.core;
        held.record_start(jobs.store(), *executor).await?;
        Ok(Claim {
            executor: *executor,
            number: held.job.number,
        })
    }

    /// Ends the job well inside a transaction of the handler's own, of sqlx or tokio-postgres: what the handler has written
    /// there and the job's success are committed together, or not at all. Commit right after it, and return; the result that
    /// counts is this one.
    ///
    /// ```no_run
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)] struct Pay;
    /// # impl turnabout::Task for Pay { const NAME: &'static str = "pay"; }
    /// # async fn connect() -> tokio_postgres::Client { unimplemented!() }
    /// async fn pay(cx: turnabout::Context, task: Pay) -> turnabout::TaskResult<()> {
    ///     let mut client = connect().await;
    ///     let mut tx = client.transaction().await?;
    ///     tx.execute("update account set paid = true", &[]).await?;
    ///     cx.finish_within(&mut tx, &"paid").await?;
    ///     tx.commit().await?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// An error means that the job is being cancelled, or was given to another executor: return it, and the transaction is
    /// rolled back. In a transaction whose snapshot is older than the start of the job (`REPEATABLE READ` and above), call
    /// [`Context::claim`] before it begins.
    pub async fn finish_within<W: Within>(&self, transaction: W, result: &(impl Serialize + ?Sized)) -> Result<()> {
        let statement = self.finish(Some(W::DATABASE), result).await?;
        statement::run(transaction, &statement).await.map(drop)
    }

    /// As [`Context::finish_within`], for other drivers: the SQL that they run as the last statement of their transaction.
    pub async fn finish_statement(&self, result: &(impl Serialize + ?Sized)) -> Result<Statement> {
        self.finish(None, result).await
    }

    async fn finish(&self, within: Option<Database>, result: &(impl Serialize + ?Sized)) -> Result<Statement> {
        let Core {
            held, jobs, executor, ..
        } = &self.core;
        let statements = statement::of(jobs, within)?;
        let result = encode(result).map_err(|e| Error::invalid("result", e.message().unwrap_or_default()))?;
        let at = held.started_at().unwrap_or_else(|| jobs.store().insight().moment());
        if statements.database == Database::Postgres {
            // On SQLite the transaction may hold the write lock, for which this would wait in vain.
            held.record_start(jobs.store(), *executor).await?;
        }
        Ok(statement::finish(
            &statements,
            *executor,
            &Start::of(&held.job, at),
            result.as_deref(),
        ))
    }

    /// The seat of the slot, for whoever may outlive it.
    pub(crate) fn seat(&self) -> Option<Seat> {
        self.core.seat.upgrade()
    }

    /// Waits for something async in a handler that blocks ([`Executor::blocking_task`](crate::Executor::blocking_task)):
    /// `cx.block_on(cx.submit(next))?`. Panics in an async handler, which should await it instead.
    pub fn block_on<F: IntoFuture>(&self, future: F) -> F::Output {
        tokio::runtime::Handle::current().block_on(future.into_future())
    }

    /// The handle on all jobs.
    pub fn jobs(&self) -> &Jobs {
        &self.core.jobs
    }

    /// Submits a further job that belongs to this one: it inherits group, owner and meta (and with it the trace context,
    /// `traceparent`), and records this job as its parent. Say more about it, then await it; in a handler's transaction,
    /// `.within(cx.transaction()?)`.
    pub fn submit<T: Task>(&self, task: T) -> Submit {
        self.core.jobs.submission(self.child(Submission::new(task)))
    }

    /// Makes a submission a child of this job, as [`Context::submit`] does: for batches, and for tasks known only by
    /// name.
    pub fn child(&self, submission: impl Into<Submission>) -> Submission {
        let job = &self.core.held.job;
        submission
            .into()
            .child_of(job.id, &job.group, job.owner.as_deref(), &job.meta)
    }
}

impl<S> Clone for Context<S> {
    fn clone(&self) -> Self {
        Self {
            core: self.core.clone(),
            state: Arc::clone(&self.state),
        }
    }
}

/// The surroundings of a hook: the application's state, and the job as it was when the hook came to be owed.
pub struct HookContext<S = ()> {
    job: Arc<Job>,
    jobs: Jobs,
    state: Arc<S>,
}

impl<S> HookContext<S> {
    pub(crate) fn new(job: Job, jobs: Jobs, state: Arc<S>) -> Self {
        Self {
            job: Arc::new(job),
            jobs,
            state,
        }
    }

    /// The application's state.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// The job. It may be gone from the store by now, or have been restarted.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The job's arguments. An error if they are not what the task expects, which may be why it failed.
    pub fn task<T: Task>(&self) -> Result<T> {
        T::decode(&Args::stored(&self.job.args)).map_err(|e| Error::invalid("arguments", e.to_string()))
    }

    /// The handle on all jobs.
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }
}

impl<S> Clone for HookContext<S> {
    fn clone(&self) -> Self {
        Self {
            job: Arc::clone(&self.job),
            jobs: self.jobs.clone(),
            state: Arc::clone(&self.state),
        }
    }
}

impl<S> std::fmt::Debug for HookContext<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookContext")
            .field("job", &self.job.id)
            .field("task", &self.job.task)
            .field("state", &self.job.state)
            .finish_non_exhaustive()
    }
}

impl<S> std::fmt::Debug for Context<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("job", &self.job())
            .field("task", &self.task())
            .field("group", &self.group())
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}
