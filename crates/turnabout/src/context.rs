//! What a handler is given beside its arguments.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::executor::hand::Held;
use crate::job::{Job, JobId, Meta, Priority};
use crate::jobs::Jobs;
use crate::submit::{Submission, Submit};
use crate::task::{Args, Task};

/// The surroundings of one attempt: the application's state, the job, and whether it should stop.
///
/// `S` is the type given to [`Executor::state`](crate::Executor::state). Cheap to clone.
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

    /// The job whose handler submitted this one.
    pub fn parent(&self) -> Option<JobId> {
        self.core.held.job.parent
    }

    /// Which attempt this is, beginning with 1.
    pub fn attempt(&self) -> u32 {
        self.core.held.job.attempts + 1
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

    /// The handle on all jobs.
    pub fn jobs(&self) -> &Jobs {
        &self.core.jobs
    }

    /// Submits a further job that belongs to this one: it inherits group, owner and meta, and records this job as
    /// its parent. Say more about it, then await it.
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
