//! The executor: a process that runs jobs. Its builder, and the order in which it lives and shuts down.
//!
//! The path of a job is `claimer` -> `hand` -> `attempt` -> `finisher`; beside it stand `keeper` (heartbeat, cancels,
//! silent peers), `reporter` (progress), `logger` and `sweeper` (due and expired jobs). A `life` is all of that for one registration in the store.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::jobs::Jobs;
use crate::log::LogLimits;
use crate::store::IdLock;
use crate::task::{Task, TaskResult, TaskSettings};
use crate::turn::Fairness;

mod attempt;
mod claimer;
mod finisher;
pub(crate) mod hand;
mod handle;
mod identity;
mod keeper;
mod life;
mod logger;
pub(crate) mod news;
mod plan;
mod registry;
mod reporter;
mod shutdown;
mod sweeper;

pub use handle::{ExecutorHandle, Health};

use handle::Control;
use life::{Backoff, Life};
use plan::{Options, Plan};
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
/// Executor::new(&jobs).state(App { greeting: "Hello".into() }).task(greet).slots(4).run().await
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
        Self {
            jobs: jobs.clone(),
            state: Arc::new(()),
            registry: Registry::default(),
            options: Options::default(),
        }
    }

    /// What handlers share: a database pool, a configuration. Comes before the tasks, which are given it.
    pub fn state<S: Send + Sync + 'static>(self, state: S) -> Executor<S> {
        let mut options = self.options;
        if !self.registry.is_empty() {
            options.mistake(
                "state",
                "it was given after a task; give it first, since handlers are bound to it",
            );
        }
        Executor {
            jobs: self.jobs,
            state: Arc::new(state),
            registry: Registry::default(),
            options,
        }
    }
}

impl<S: Send + Sync + 'static> Executor<S> {
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

    /// How many jobs run at a time: as many as there are processors unless said otherwise.
    pub fn slots(mut self, slots: u32) -> Self {
        self.options.slots = slots as usize;
        self
    }

    /// The queues whose jobs are taken: only `default` unless said otherwise.
    pub fn queues<Q: Into<String>>(mut self, queues: impl IntoIterator<Item = Q>) -> Self {
        self.options.queues = queues.into_iter().map(Into::into).collect();
        self
    }

    /// The executor's id, also its name for people: the host's name unless said otherwise, with a number if that is taken.
    /// A second executor with the id of one that lives is refused ([`Error::IdTaken`](crate::Error::IdTaken)); one that
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

    /// An executor that nobody wakes looks for jobs this often at least (30 s).
    pub fn wake_up(mut self, period: Duration) -> Self {
        self.options.wake_up = period;
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

    /// Runs for ever. Dropped, it shuts down without waiting for what runs.
    pub async fn run(self) -> Result<()> {
        self.run_until(std::future::pending(), Duration::ZERO).await
    }

    /// Runs until `stop` completes; then takes no more jobs, and waits up to `deadline` for those that run.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # async fn example(executor: turnabout::Executor, ctrl_c: impl Future<Output = ()>) -> turnabout::Result<()> {
    /// executor.run_until(ctrl_c, Duration::from_secs(30)).await
    /// # }
    /// ```
    pub async fn run_until(self, stop: impl Future<Output = ()>, deadline: Duration) -> Result<()> {
        let handle = self.start().await?;
        stop.await;
        handle.shutdown(deadline).await;
        Ok(())
    }

    /// Starts in the background. Mistakes in the set-up, and a store that cannot be reached, are told here; later
    /// trouble is waited out, and told by [`ExecutorHandle::health`].
    pub async fn start(self) -> Result<ExecutorHandle> {
        let mut plan = Plan::new(self.jobs, self.registry, self.options)?;
        let id = identity::settle_in(&mut plan).await?;
        let plan = Arc::new(plan);
        let health = Arc::default();
        let life = Life::new(Arc::clone(&plan), Arc::clone(&health));
        register(&life).await?;
        let control = Arc::new(Control::new(Arc::clone(&life), health));
        tokio::spawn(lives(Arc::clone(&control), life, id));
        Ok(ExecutorHandle::new(control))
    }
}

async fn register(life: &Life) -> Result<()> {
    // Before it is sent: others may see it before we know.
    let sent = std::time::Instant::now();
    life.store
        .register(&life.info(), &life.plan.kind, &life.plan.registry.settings())
        .await?;
    let mut troubles = life.health.lock().unwrap_or_else(PoisonError::into_inner);
    troubles.registered = true;
    troubles.renewed = Some(sent);
    tracing::info!(executor = %life.plan.name, incarnation = %life.incarnation, "registered");
    Ok(())
}

/// One life after the other, until a shutdown.
async fn lives(control: Arc<Control>, mut life: Arc<Life>, id: Option<Box<dyn IdLock>>) {
    let mut former = Vec::new();
    loop {
        let shut_down = shutdown::live(&life, &control).await;
        set_unregistered(&control.health);
        if shut_down {
            break;
        }
        former.push(life.incarnation);
        let Some(next) = reborn(&control, &life, &mut former).await else {
            break;
        };
        life = next;
    }
    drop(id);
    control.done.send_replace(true);
}

/// The next life. All handlers of the last one have stopped, so its jobs can come back at once. `former` are all
/// registrations of ours that may still be in the store.
async fn reborn(control: &Control, last: &Life, former: &mut Vec<Uuid>) -> Option<Arc<Life>> {
    let mut backoff = Backoff::for_store();
    loop {
        let life = Life::new(Arc::clone(&last.plan), Arc::clone(&control.health));
        let registered = tokio::select! {
            () = control.shutdown_requested() => return None,
            registered = register_again(&life, former) => registered,
        };
        match registered {
            Ok(()) => {
                life.fine("registering");
                match identity::bury(&life.plan, former).await {
                    Ok(()) => former.clear(),
                    // Others will find that they are silent.
                    Err(error) => life.trouble("reaping", &error),
                }
                control.set_life(&life);
                return Some(life);
            }
            Err(error) => {
                life.trouble("registering", &error);
                backoff.wait().await;
            }
        }
    }
}

/// Registers under our id, unless someone else took us for dead and lives under it now.
async fn register_again(life: &Life, former: &[Uuid]) -> Result<()> {
    if identity::is_usurped(&life.plan, former).await? {
        let id = life.plan.name.clone();
        return Err(Error::IdTaken { id });
    }
    register(life).await
}

fn set_unregistered(health: &Mutex<life::Troubles>) {
    health.lock().unwrap_or_else(PoisonError::into_inner).registered = false;
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
