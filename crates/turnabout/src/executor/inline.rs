//! Running a job at once, in the caller's own time: stored, claimed, run and settled as every other, by an executor that
//! is running anyway, but not in one of its slots.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::ExecutorHandle;
use super::attempt;
use super::hand::Held;
use crate::error::{Error, Result};
use crate::group::Cap;
use crate::job::Job;
use crate::jobs::Jobs;
use crate::submit::Submit;

/// The job is parked until it is in our hands; should that never come to be, it is an ordinary one after this time.
const MEANWHILE: Duration = Duration::from_mins(1);

impl ExecutorHandle {
    /// Stores a job and runs it.
    pub(crate) async fn run_inline(&self, jobs: &Jobs, submit: Submit) -> Result<Job> {
        let life = self.life();
        if !Arc::ptr_eq(jobs.store(), &life.store) {
            return Err(Error::invalid("executor", "it runs the jobs of another store"));
        }
        if life.plan.tasks().registry.get(submit.task()).is_none() {
            let why = format!(
                "it does not know the task `{}`; add it with `.task(handler)`",
                submit.task()
            );
            return Err(Error::invalid("executor", why));
        }
        if life.closing.is_cancelled() {
            return Err(Error::invalid("executor", "it is shutting down"));
        }
        let task = submit.task().to_owned();
        let submitted = submit.parked(MEANWHILE)?.await?;
        if !submitted.new {
            return jobs.get(submitted.id).await;
        }
        // Should the answer get lost, or the caller go away before it comes, the next heartbeat gives the job back.
        let asking = life.numbers.inline();
        let number = asking.number;
        let each = jobs.settings().await?.task(&task).max_running_each;
        let claimed = if each.is_some_and(|most| life.hand.unended(&Cap::Task(task.clone())) >= most) {
            None
        } else {
            life.store.grab(life.incarnation, number, submitted.id).await?
        };
        let Some(claimed) = claimed else {
            let job = jobs.get(submitted.id).await?;
            return Err(Error::WrongState {
                id: job.id,
                state: job.state,
                hint: "its group, task or queue is paused or at a limit, so it could not be run at once; it waits like any other",
            });
        };
        // Whether there is a cap on it: its end may free a place.
        let held = Arc::new(Held::new(claimed, 1, true));
        life.hand.adopt(&held);
        drop(asking);
        // Not dropped with the caller: a job in hand must end in some way.
        let run = tokio::spawn({
            let (life, held) = (Arc::clone(&life), Arc::clone(&held));
            async move { attempt::run(&life, held, &Weak::new()).await }
        });
        let _ = run.await;
        let mut size = life.hand.size.subscribe();
        let is_away = || {
            life.hand
                .get(submitted.id)
                .is_none_or(|other| other.job.number != number)
        };
        while !is_away() {
            tokio::select! {
                changed = size.changed() => if changed.is_err() { break },
                () = life.lost.cancelled() => return Err(Error::LeaseLost),
            }
        }
        jobs.get(submitted.id).await
    }
}

impl Submit {
    /// Stores the job and runs it at once, in this process, by an executor that knows its task: through the same steps as
    /// every other job, but without waiting for a slot or for its group's turn. For tests, and for small installations
    /// that have no executor in the background ([`Executor::inline_only`](crate::Executor::inline_only)).
    ///
    /// Returns the job after its first attempt: ended, or (if that failed and it has retries left) stuck; then it is an
    /// ordinary job, for whoever takes it when it is due. A job that exists already is returned as it is.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use turnabout::{Context, Executor, Jobs, State, Task, TaskResult};
    /// # #[derive(Serialize, Deserialize)] struct Greet { name: String }
    /// # impl Task for Greet { const NAME: &'static str = "greet"; }
    /// # async fn greet(_: Context, task: Greet) -> TaskResult<String> { Ok(format!("Hello, {}!", task.name)) }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> turnabout::Result<()> {
    /// let jobs = Jobs::open("sqlite::memory:").await?;
    /// let executor = Executor::new(&jobs).task(greet).inline_only().start().await?;
    /// let job = jobs.submit(Greet { name: "Ada".into() }).inline(&executor).await?;
    /// assert_eq!(job.result::<String>()?.as_deref(), Some("Hello, Ada!"));
    /// # Ok(()) }
    /// ```
    pub async fn inline(self, executor: &ExecutorHandle) -> Result<Job> {
        let jobs = self.jobs().clone();
        executor.run_inline(&jobs, self).await
    }
}
