//! The jobs of one owner or one group, for whoever may see no others: those do not exist for them.

use std::sync::Arc;

use super::{Cancel, Explanation, FollowLogs, Jobs, List, Logs, Watch};
use crate::error::{Error, Result};
use crate::job::{Attempt, Job, JobId, Priority};

/// Whose jobs. A job's group and owner never change, so that what was looked at before acting is still true then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) group: String,
    pub(super) owner: Option<String>,
}

impl Scope {
    pub(super) fn holds(&self, job: &Job) -> bool {
        job.group == self.group && (self.owner.is_none() || job.owner == self.owner)
    }
}

/// The jobs of one owner or one group: what a server hands to the code that serves a signed-in person. A job of anybody
/// else is [`Error::NotFound`], as if there were none.
///
/// ```
/// # async fn example(jobs: turnabout::Jobs, id: turnabout::JobId) -> turnabout::Result<()> {
/// let hers = jobs.of_owner("acme", "ada");
/// for job in hers.list().await?.jobs {
///     println!("{} is {} ({} %)", job.task, job.state, job.progress);
/// }
/// hers.cancel(id).await?; // an error, unless the job is hers
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ScopedJobs {
    jobs: Jobs,
    scope: Arc<Scope>,
}

impl Jobs {
    /// The jobs that this owner has submitted in this group, and no others.
    pub fn of_owner(&self, group: impl Into<String>, owner: impl Into<String>) -> ScopedJobs {
        self.scoped(group.into(), Some(owner.into()))
    }

    /// The jobs of this group, and no others.
    pub fn of_group(&self, group: impl Into<String>) -> ScopedJobs {
        self.scoped(group.into(), None)
    }

    fn scoped(&self, group: String, owner: Option<String>) -> ScopedJobs {
        ScopedJobs {
            jobs: self.clone(),
            scope: Arc::new(Scope { group, owner }),
        }
    }
}

impl ScopedJobs {
    /// A job, unfinished or ended.
    pub async fn get(&self, id: JobId) -> Result<Job> {
        let job = self.jobs.get(id).await?;
        if self.scope.holds(&job) {
            Ok(job)
        } else {
            Err(Error::NotFound(id))
        }
    }

    /// Jobs by id, in the given order; those that do not exist are left out.
    pub async fn get_many(&self, ids: &[JobId]) -> Result<Vec<Job>> {
        let mut jobs = self.jobs.get_many(ids).await?;
        jobs.retain(|job| self.scope.holds(job));
        Ok(jobs)
    }

    /// Lists jobs, newest first, a page at a time. Say which, then await it.
    pub fn list(&self) -> List {
        List::within(self.jobs.clone(), Scope::clone(&self.scope))
    }

    /// See [`Jobs::cancel`].
    pub async fn cancel(&self, id: JobId) -> Result<Cancel> {
        self.check(id).await?;
        self.jobs.cancel(id).await
    }

    /// See [`Jobs::restart`].
    pub async fn restart(&self, id: JobId) -> Result<()> {
        self.check(id).await?;
        self.jobs.restart(id).await
    }

    /// See [`Jobs::delete`].
    pub async fn delete(&self, id: JobId) -> Result<()> {
        self.check(id).await?;
        self.jobs.delete(id).await
    }

    /// See [`Jobs::set_priority`].
    pub async fn set_priority(&self, id: JobId, priority: Priority) -> Result<()> {
        self.check(id).await?;
        self.jobs.set_priority(id, priority).await
    }

    /// See [`Jobs::explain`].
    pub async fn explain(&self, id: JobId) -> Result<Explanation> {
        self.check(id).await?;
        Ok(self.jobs.explain(id).await?.without_others())
    }

    /// See [`Jobs::watch`].
    pub fn watch(&self, id: JobId) -> Watch {
        Watch::new(Arc::clone(self.jobs.store()), id, Some(Arc::clone(&self.scope)))
    }

    /// See [`Jobs::attempts`].
    pub async fn attempts(&self, id: JobId) -> Result<Vec<Attempt>> {
        self.check(id).await?;
        self.jobs.attempts(id).await
    }

    /// See [`Jobs::logs`].
    pub fn logs(&self, id: JobId) -> Logs {
        Logs::new(self.jobs.clone(), id, Some(Arc::clone(&self.scope)))
    }

    /// See [`Jobs::follow_logs`].
    pub fn follow_logs(&self, id: JobId) -> FollowLogs {
        FollowLogs::new(Arc::clone(self.jobs.store()), id, Some(Arc::clone(&self.scope)))
    }

    async fn check(&self, id: JobId) -> Result<()> {
        self.get(id).await.map(drop)
    }
}
