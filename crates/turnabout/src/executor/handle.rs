//! A running executor, seen from outside.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use super::health::Troubles;
use super::life::Life;

/// A running executor. Dropped, it shuts down without waiting for what runs.
#[derive(Debug)]
#[must_use = "dropping the handle shuts the executor down"]
pub struct ExecutorHandle {
    control: Arc<Control>,
}

/// How an executor is doing.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Health {
    /// Its name.
    pub name: String,
    /// Its present registration.
    pub incarnation: Uuid,
    /// Whether it is registered in the store.
    pub registered: bool,
    /// How long ago its lease was renewed.
    pub renewed: Option<Duration>,
    /// How many jobs run.
    pub running: usize,
    /// How many jobs it has in hand, running or not.
    pub held: usize,
    /// What does not work at present, by what it tries to do.
    pub troubles: BTreeMap<&'static str, String>,
    /// Which of its loops are behind: at work on one thing for longer than a heartbeat, and for how long.
    pub behind: BTreeMap<&'static str, Duration>,
    /// How many outcomes wait to be written.
    pub unwritten: usize,
    /// How often one of its loops had to be begun anew.
    pub restarts: u32,
}

impl Health {
    /// Whether all is well.
    pub fn is_good(&self) -> bool {
        self.registered && self.troubles.is_empty() && self.behind.is_empty()
    }
}

/// How long a shutdown waits for running jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deadline {
    /// None was asked for.
    NotAsked,
    /// As long as they take.
    Unlimited,
    /// Until then.
    At(Instant),
}

/// What the handle and the background task share.
#[derive(Debug)]
pub(super) struct Control {
    /// Whether a shutdown was asked for, and until when running jobs may go on.
    deadline: watch::Sender<Deadline>,
    pub(super) done: watch::Sender<bool>,
    life: Mutex<Arc<Life>>,
    pub(super) health: Arc<Mutex<Troubles>>,
}

impl Control {
    pub(super) fn new(life: Arc<Life>, health: Arc<Mutex<Troubles>>) -> Self {
        Self {
            deadline: watch::Sender::new(Deadline::NotAsked),
            done: watch::Sender::new(false),
            life: Mutex::new(life),
            health,
        }
    }

    pub(super) fn set_life(&self, life: &Arc<Life>) {
        *self.life.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(life);
    }

    pub(super) fn life(&self) -> Arc<Life> {
        Arc::clone(&self.life.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A second request may shorten the time, not lengthen it.
    fn request_shutdown(&self, deadline: Option<Duration>) {
        // A deadline past the end of time is none.
        let at = deadline.and_then(|deadline| Instant::now().checked_add(deadline));
        self.deadline.send_modify(|present| {
            *present = match (*present, at) {
                (Deadline::At(present), Some(at)) => Deadline::At(present.min(at)),
                (_, Some(at)) => Deadline::At(at),
                (Deadline::NotAsked, None) => Deadline::Unlimited,
                (present, None) => present,
            }
        });
        // At once, not when the background task gets to it: whoever asks wants nothing more to be taken.
        self.life().closing.cancel();
    }

    pub(super) async fn shutdown_requested(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self
            .deadline
            .subscribe()
            .wait_for(|deadline| *deadline != Deadline::NotAsked)
            .await;
    }

    /// How long running jobs may go on.
    pub(super) fn left(&self) -> Deadline {
        *self.deadline.borrow()
    }

    /// Waits until the time that running jobs were given is over.
    pub(super) async fn deadline(&self) {
        let mut deadline = self.deadline.subscribe();
        loop {
            let at = *deadline.borrow_and_update();
            let over = async {
                match at {
                    Deadline::At(at) => tokio::time::sleep_until(at).await,
                    Deadline::NotAsked | Deadline::Unlimited => std::future::pending().await,
                }
            };
            tokio::select! {
                () = over => return,
                changed = deadline.changed() => if changed.is_err() { return },
            }
        }
    }
}

impl std::fmt::Display for Deadline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAsked | Self::Unlimited => f.write_str("none"),
            Self::At(at) => {
                let left = at.saturating_duration_since(Instant::now());
                write!(f, "{} s", left.as_secs_f64().ceil())
            }
        }
    }
}

impl ExecutorHandle {
    pub(super) fn new(control: Arc<Control>) -> Self {
        Self { control }
    }

    pub(super) fn life(&self) -> Arc<Life> {
        self.control.life()
    }

    /// Takes no more jobs, gives back those that have not started, and waits up to `deadline` for those that run;
    /// then these are told to stop, and after the grace period dropped. With `None` it waits for as long as they take.
    /// Afterwards nothing is left in hand. Called again with a shorter deadline, it goes faster.
    pub async fn shutdown(&self, deadline: impl Into<Option<Duration>>) {
        self.control.request_shutdown(deadline.into());
        self.ended().await;
    }

    /// Waits until an operator wants this executor to end, by [`Jobs::dismiss`](crate::Jobs::dismiss). It takes no more jobs
    /// by then; whoever holds this handle shuts it down, and ends the program.
    pub async fn dismissed(&self) {
        let mut dismissed = self.control.life().plan.dismissed.subscribe();
        // The sender lives in the plan, so waiting cannot fail.
        let _ = dismissed.wait_for(|dismissed| *dismissed).await;
    }

    /// Waits until the executor has shut down.
    pub async fn ended(&self) {
        let _ = self.control.done.subscribe().wait_for(|done| *done).await;
    }

    /// Whether it has nothing in hand and found nothing to do when it last looked.
    pub fn is_idle(&self) -> bool {
        let life = self.control.life();
        life.asleep.load(Relaxed) && *life.hand.size.borrow() == 0
    }

    /// Looks for jobs at once. That is never needed: it is woken when one is submitted.
    pub fn wake(&self) {
        self.control.life().ready.notify_one();
    }

    /// Uses no more than so many of its slots from now on; `None`: all of them. With 0 it takes no more jobs. What it has in
    /// hand goes on.
    ///
    /// For work that does harm or is in vain while something else is not well: a server that all its jobs call, for example.
    pub fn use_slots(&self, slots: impl Into<Option<usize>>) {
        let life = self.control.life();
        life.plan.used.store(slots.into().unwrap_or(usize::MAX), Relaxed);
        life.hand.room.notify_one();
        // One that stands by wants as many as it could have used before.
        life.ready.notify_one();
    }

    /// The jobs that it has in hand, running or about to.
    pub fn held(&self) -> Vec<crate::JobId> {
        let life = self.control.life();
        life.hand.all().iter().map(|held| held.job.id).collect()
    }

    /// How it is doing.
    pub fn health(&self) -> Health {
        let life = self.control.life();
        let troubles = self.control.health.lock().unwrap_or_else(PoisonError::into_inner);
        Health {
            name: life.plan.name.clone(),
            incarnation: life.incarnation,
            registered: troubles.registered,
            renewed: troubles.renewed.map(|at| at.elapsed()),
            running: life.hand.running(),
            held: *life.hand.size.borrow(),
            troubles: life.failing(),
            behind: life.behind(),
            unwritten: life.unwritten(),
            restarts: troubles.restarts,
        }
    }

    /// Knows other tasks from now on: those of `executor`, of which nothing else is looked at. Jobs that run go on as they
    /// began. On an error everything stays as it was.
    ///
    /// ```
    /// # use turnabout::task::TaskSettings;
    /// # use turnabout::{Context, Executor, ExecutorHandle, Jobs, TaskResult};
    /// async fn echo(_: Context, args: serde_json::Value) -> TaskResult<serde_json::Value> {
    ///     Ok(args)
    /// }
    ///
    /// # async fn example(jobs: Jobs, handle: ExecutorHandle) -> turnabout::Result<()> {
    /// handle.replace_tasks(Executor::new(&jobs).task_named(TaskSettings::named("echo"), echo)).await
    /// # }
    /// ```
    pub async fn replace_tasks<S>(&self, executor: super::Executor<S>) -> crate::Result<()> {
        let life = self.control.life();
        let tasks = Arc::new(life.plan.other_tasks(executor.registry)?);
        super::offer_transactions(&life.plan, &tasks)?;
        let former = life.plan.set_tasks(Arc::clone(&tasks));
        // This is no heartbeat: the lease ends when it would have.
        let (info, settings) = (life.info(), tasks.registry.settings());
        if let Err(error) = life.store.register(&info, &tasks.kind, &settings).await {
            life.plan.set_tasks(former);
            return Err(error);
        }
        life.owed.notify_one();
        life.ready.notify_one();
        Ok(())
    }

    /// Waits until there is nothing more to do: nothing in hand, nothing ready, nothing due.
    pub(crate) async fn drained(&self) -> crate::Result<()> {
        let life = self.control.life();
        let mut size = life.hand.size.subscribe();
        let mut quiet = life.quiet.subscribe();
        // Twice, since the first look may have begun before the last job was promoted.
        let mut looks = 0;
        while looks < 2 {
            let promoted = life.store.promote(1000).await?;
            let fired = match promoted.schedules {
                Some(Duration::ZERO) => super::scheduler::fire(&life).await?,
                _ => 0,
            };
            if promoted.jobs > 0 || fired > 0 || promoted.next == Some(Duration::ZERO) {
                looks = 0;
            }
            let _ = size.wait_for(|held| *held == 0).await;
            quiet.mark_unchanged();
            life.ready.notify_one();
            tokio::select! {
                _ = quiet.changed() => looks += 1,
                _ = size.changed() => looks = 0,
                () = life.lost.cancelled() => return Err(crate::Error::LeaseLost),
            }
        }
        while super::hooks::pay(&life).await? > 0 {}
        Ok(())
    }
}

impl Drop for ExecutorHandle {
    fn drop(&mut self) {
        self.control.request_shutdown(Some(Duration::ZERO));
    }
}
