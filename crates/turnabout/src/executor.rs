//! The executor: a process that runs jobs. Its builder, and the order in which it lives and shuts down.
//!
//! The path of a job is `claimer` -> `hand` -> `attempt` -> `finisher`; beside it stand `keeper` (heartbeat, cancels,
//! silent peers), `reporter` (progress), `logger` and `sweeper` (due and expired jobs). A `life` is all of that for one registration in the store.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::hook::Hook;
use crate::job::Described;
use crate::jobs::Jobs;
use crate::log::LogLimits;
use crate::task::{Failure, Task, TaskResult, TaskSettings};
use crate::turn::Fairness;

mod attempt;
mod blocking;
mod claimer;
mod finisher;
pub(crate) mod hand;
mod handle;
mod health;
mod hooks;
mod identity;
mod inline;
mod keeper;
mod life;
mod lives;
mod logger;
mod meter;
pub(crate) mod news;
mod numbers;
pub(crate) mod plan;
pub(crate) mod registry;
mod reporter;
mod scheduler;
mod shutdown;
mod start_mark;
mod sweeper;
mod transaction;

pub use handle::{ExecutorHandle, Health};
pub use hooks::HookHandler;

use handle::Control;
use life::Life;
use plan::{Options, Plan, Tasks};
use registry::Registry;

/// Runs jobs. Say which tasks it knows and how it should behave, then [`run`](Executor::run) it.
///
/// ```no_run
/// use serde::{Deserialize, Serialize};
/// use turnabout::{Context, Executor, Jobs, Task, TaskResult};
///
/// #[derive(Serialize, Deserialize)]
/// struct Greet { name: String }
///
/// impl Task for Greet { const NAME: &'static str = "greet"; }
///
/// struct App { greeting: String }
///
/// async fn greet(cx: Context<App>, task: Greet) -> TaskResult<String> {
///     Ok(format!("{}, {}!", cx.state().greeting, task.name))
/// }
///
/// # async fn example() -> turnabout::Result<()> {
/// let jobs = Jobs::open("sqlite://jobs.db").await?;
/// Executor::with_state(&jobs, App { greeting: "Hello".into() }).task(greet).slots(4).run().await
/// # }
/// ```
#[must_use = "an executor does nothing until it is run or started"]
pub struct Executor<S = ()> {
    jobs: Jobs,
    state: Arc<S>,
    registry: Registry,
    options: Options,
}

impl Executor<()> {
    /// An executor of these jobs.
    pub fn new(jobs: &Jobs) -> Self {
        Self::with_state(jobs, ())
    }
}

impl<S: Send + Sync + 'static> Executor<S> {
    /// An executor of these jobs, and what its handlers share: a database pool, a configuration. They find it in
    /// [`Context::state`].
    ///
    /// State comes first, since handlers are bound to it. There is no way to give it after a task:
    ///
    /// ```compile_fail,E0599
    /// # use serde::{Deserialize, Serialize};
    /// # use turnabout::{Context, Executor, Jobs, Task, TaskResult};
    /// # #[derive(Serialize, Deserialize)] struct Greet;
    /// # impl Task for Greet { const NAME: &'static str = "greet"; }
    /// # async fn greet(_: Context, _: Greet) -> TaskResult { Ok(()) }
    /// # async fn example(jobs: Jobs) -> turnabout::Result<()> {
    /// Executor::new(&jobs).task(greet).state("Hello").run().await
    /// # }
    /// ```
    ///
    /// And a handler that wants another state is refused:
    ///
    /// ```compile_fail,E0631
    /// # use serde::{Deserialize, Serialize};
    /// # use turnabout::{Context, Executor, Jobs, Task, TaskResult};
    /// # #[derive(Serialize, Deserialize)] struct Greet;
    /// # impl Task for Greet { const NAME: &'static str = "greet"; }
    /// async fn greet(_: Context<String>, _: Greet) -> TaskResult { Ok(()) }
    ///
    /// # async fn example(jobs: Jobs) -> turnabout::Result<()> {
    /// Executor::new(&jobs).task(greet).run().await
    /// # }
    /// ```
    pub fn with_state(jobs: &Jobs, state: S) -> Self {
        Self {
            jobs: jobs.clone(),
            state: Arc::new(state),
            registry: Registry::default(),
            options: Options::default(),
        }
    }

    /// Adds a task by its handler, `async fn(Context<S>, T) -> TaskResult<O>`.
    pub fn task<T, O, F, Fut>(mut self, handler: F) -> Self
    where
        T: Task,
        O: Serialize,
        F: Fn(Context<S>, T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = TaskResult<O>> + Send + 'static,
    {
        self.registry.add(&self.state, handler);
        self
    }

    /// Adds a task by a handler that blocks, `fn(Context<S>, T) -> TaskResult<O>`: one that computes for long, or calls
    /// something that does. It runs on a thread of its own; [`Context::block_on`] waits there for what is async.
    ///
    /// Such a handler cannot be dropped: one that is told to stop and does not keeps its slot, and its job, until it
    /// returns, so that nobody else runs the job at the same time. (A shutdown does not wait for it for ever.)
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use turnabout::{Context, Executor, Jobs, Task, TaskResult};
    /// #[derive(Serialize, Deserialize)]
    /// struct Primes { below: u64 }
    ///
    /// impl Task for Primes { const NAME: &'static str = "primes"; }
    ///
    /// fn primes(cx: Context, task: Primes) -> TaskResult<usize> {
    ///     let mut count = 0;
    ///     for n in 2..task.below {
    ///         if n % 1000 == 0 {
    ///             cx.check_cancelled()?;
    ///         }
    ///         count += usize::from((2..n).take_while(|d| d * d <= n).all(|d| n % d != 0));
    ///     }
    ///     Ok(count)
    /// }
    ///
    /// # async fn example(jobs: Jobs) -> turnabout::Result<()> {
    /// Executor::new(&jobs).blocking_task(primes).run().await
    /// # }
    /// ```
    pub fn blocking_task<T, O, F>(mut self, handler: F) -> Self
    where
        T: Task,
        O: Serialize,
        F: Fn(Context<S>, T) -> TaskResult<O> + Send + Sync + 'static,
    {
        self.registry.add_blocking(&self.state, handler);
        self
    }

    /// Adds a task that has no type of its own, by its settings: its arguments are whatever the handler takes, such
    /// as a [`serde_json::Value`].
    pub fn task_named<T, O, F, Fut>(mut self, settings: TaskSettings, handler: F) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        O: Serialize,
        F: Fn(Context<S>, T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = TaskResult<O>> + Send + 'static,
    {
        self.registry.add_named(&self.state, settings, handler);
        self
    }

    /// What to do when an attempt of a job of this task has failed, or when a job failed without one (it expired, or was
    /// lost once too often). [`HookContext::job`](crate::HookContext::job) tells whether it will be tried again: then it is stuck, else failed.
    ///
    /// This and the other hooks run after the fact, at least once, on any executor that has them; they are noted in the
    /// store together with what they are about, so that none is lost. One that fails is tried again a few times.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use turnabout::{Context, Executor, HookContext, Jobs, State, Task, TaskResult};
    /// # #[derive(Serialize, Deserialize)] struct Import { file: String }
    /// # impl Task for Import { const NAME: &'static str = "import"; }
    /// # async fn import(_: Context, _: Import) -> TaskResult { Ok(()) }
    /// async fn failed(cx: HookContext) -> TaskResult {
    ///     let import: Import = cx.task()?;
    ///     if cx.job().state == State::Failed {
    ///         println!("{} could not be imported: {:?}", import.file, cx.job().error);
    ///     }
    ///     Ok(())
    /// }
    ///
    /// # async fn example(jobs: Jobs) -> turnabout::Result<()> {
    /// Executor::new(&jobs).task(import).on_error::<Import>(failed).run().await
    /// # }
    /// ```
    pub fn on_error<T: Task>(mut self, hook: impl HookHandler<S>) -> Self {
        self.registry.add_hook::<S, T>(&self.state, Hook::Error, hook);
        self
    }

    /// What to do when a job of this task was cancelled, whether it waited or ran.
    pub fn on_cancelled<T: Task>(mut self, hook: impl HookHandler<S>) -> Self {
        self.registry.add_hook::<S, T>(&self.state, Hook::Cancelled, hook);
        self
    }

    /// What to do when a job of this task is forgotten, because someone deletes it or it was kept for long enough: remove
    /// its files, for one. The hook is given the job as it was.
    pub fn before_delete<T: Task>(mut self, hook: impl HookHandler<S>) -> Self {
        self.registry.add_hook::<S, T>(&self.state, Hook::Delete, hook);
        self
    }

    /// How failures of this task are told to people and to programs. What is not described here keeps its own text
    /// only.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use turnabout::{Context, Described, Executor, Jobs, Task, TaskResult};
    /// # #[derive(Serialize, Deserialize)] struct Import { file: String }
    /// # impl Task for Import { const NAME: &'static str = "import"; }
    /// # async fn import(_: Context, _: Import) -> TaskResult { Ok(()) }
    /// # async fn example(jobs: Jobs) -> turnabout::Result<()> {
    /// Executor::new(&jobs)
    ///     .task(import)
    ///     .describe_error::<Import>(|failure| {
    ///         failure.find::<std::io::Error>().map(|_| Described::new("unreadable", "The file cannot be read."))
    ///     })
    ///     .run()
    ///     .await
    /// # }
    /// ```
    pub fn describe_error<T: Task>(
        mut self,
        describe: impl Fn(&Failure<'_>) -> Option<Described> + Send + Sync + 'static,
    ) -> Self {
        self.registry.add_description::<T>(describe);
        self
    }

    /// How long a hook may take (30 s).
    pub fn hook_limit(mut self, limit: Duration) -> Self {
        self.options.hook_limit = limit;
        self
    }

    /// How many jobs run at a time: as many as there are processors unless said otherwise.
    pub fn slots(mut self, slots: u32) -> Self {
        self.options.slots = slots as usize;
        self
    }

    /// Takes no jobs by itself: only runs those that are submitted [inline](crate::submit::Submit::inline), and keeps house.
    pub fn inline_only(mut self) -> Self {
        self.options.inline_only = true;
        self
    }

    /// The queues whose jobs are taken: only `default` unless said otherwise.
    pub fn queues<Q: Into<String>>(mut self, queues: impl IntoIterator<Item = Q>) -> Self {
        self.options.queues = queues.into_iter().map(Into::into).collect();
        self
    }

    /// The executor's id, also its name for people: the host's name unless said otherwise, with a number if that is taken.
    /// A second executor with the id of one that lives is refused ([`Error::IdTaken`]); one that
    /// comes after a dead one takes back at once what that one held.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = Some(name.into());
        self
    }

    /// What a job costs its group: each the same unless said otherwise. All executors of a store should agree.
    pub fn fairness(mut self, fairness: Fairness) -> Self {
        self.options.fairness = fairness;
        self
    }

    /// The counting scheme, such as `4,2,1`: four high, two normal, one low, then over again.
    pub fn scheme(mut self, scheme: &str) -> Self {
        match scheme.parse() {
            Ok(scheme) => self.options.scheme = scheme,
            Err(error) => self.options.mistaken(error),
        }
        self
    }

    /// How often the lease is renewed (5 s), and how long it lasts (30 s): an executor that fell silent is noticed
    /// after that time. All executors of a store should agree.
    pub fn lease(mut self, heartbeat: Duration, lease: Duration) -> Self {
        self.options.heartbeat = heartbeat;
        self.options.lease = lease;
        self
    }

    /// How long a handler that was told to stop may take before it is dropped (10 s).
    pub fn grace(mut self, grace: Duration) -> Self {
        self.options.grace = grace;
        self
    }

    /// How much is kept of what handlers write to the logs of their jobs.
    pub fn log_limits(mut self, limits: LogLimits) -> Self {
        self.options.log_limits = limits;
        self
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Runs until an operator wants it to end ([`Jobs::dismiss`]). Dropped, it shuts down without waiting for what runs.
    pub async fn run(self) -> Result<()> {
        self.run_until(std::future::pending(), Duration::ZERO).await
    }

    /// Runs until `stop` completes; then takes no more jobs, and waits up to `deadline` for those that run, or for as long as
    /// they take (`None`). Where an operator wants it to end ([`Jobs::dismiss`]) it waits for as long as they take.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # async fn example(executor: turnabout::Executor, ctrl_c: impl Future<Output = ()>) -> turnabout::Result<()> {
    /// executor.run_until(ctrl_c, Duration::from_secs(30)).await
    /// # }
    /// ```
    pub async fn run_until(self, stop: impl Future<Output = ()>, deadline: impl Into<Option<Duration>>) -> Result<()> {
        let handle = self.start().await?;
        let mut stop = std::pin::pin!(stop);
        tokio::select! {
            () = &mut stop => {}
            () = handle.dismissed() => tokio::select! {
                () = handle.shutdown(None) => return Ok(()),
                () = stop => {}
            },
        }
        handle.shutdown(deadline).await;
        Ok(())
    }

    /// Starts in the background. Mistakes in the set-up, and a store that cannot be reached, are told here; later
    /// trouble is waited out, and told by [`ExecutorHandle::health`].
    pub async fn start(self) -> Result<ExecutorHandle> {
        let mut plan = Plan::new(self.jobs, self.registry, self.options)?;
        offer_transactions(&plan, &plan.tasks())?;
        let id = identity::settle_in(&mut plan).await?;
        let plan = Arc::new(plan);
        let health = Arc::default();
        let life = Life::new(Arc::clone(&plan), Arc::clone(&health));
        lives::register(&life).await?;
        let control = Arc::new(Control::new(Arc::clone(&life), health));
        tokio::spawn(lives::run(Arc::clone(&control), life, id));
        Ok(ExecutorHandle::new(control))
    }
}

/// Has the store ready for tasks whose handlers are given transactions.
fn offer_transactions(plan: &Plan, tasks: &Tasks) -> Result<()> {
    let Some(task) = tasks.registry.transactional() else {
        return Ok(());
    };
    let Some(transactions) = plan.jobs.store().transactions() else {
        let why = format!("the task `{task}` wants one, but only a PostgreSQL store can give handlers a transaction");
        return Err(Error::invalid("transaction", why));
    };
    transactions.offer(plan.slots.max(4));
    Ok(())
}

impl<S> std::fmt::Debug for Executor<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
