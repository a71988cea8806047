//! How an executor is meant to behave: what its builder gathered, checked.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::life::Life;
use super::registry::Registry;
use crate::error::{Error, Result};
use crate::jobs::Jobs;
use crate::log::LogLimits;
use crate::store::ExecutorInfo;
use crate::submit::name;
use crate::turn::{self, Fairness, Name, Scheme, Turns};

/// An executor has no more slots.
const MAX_SLOTS: usize = 100_000;
/// Shorter heartbeats would be a load, not a sign of life.
const SHORTEST_HEARTBEAT: Duration = Duration::from_millis(10);

/// What the builder gathers.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) slots: usize,
    pub(super) queues: Vec<String>,
    pub(super) name: Option<String>,
    pub(super) fairness: Fairness,
    pub(super) scheme: Scheme,
    pub(super) heartbeat: Duration,
    pub(super) lease: Duration,
    pub(super) grace: Duration,
    pub(super) hook_limit: Duration,
    pub(super) inline_only: bool,
    pub(super) log_limits: LogLimits,
    mistake: Option<Error>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            slots: std::thread::available_parallelism().map_or(4, Into::into),
            queues: vec!["default".to_owned()],
            name: None,
            fairness: Fairness::default(),
            scheme: Scheme::default(),
            heartbeat: Duration::from_secs(5),
            lease: Duration::from_secs(30),
            grace: Duration::from_secs(10),
            hook_limit: crate::hook::LIMIT,
            inline_only: false,
            log_limits: LogLimits::default(),
            mistake: None,
        }
    }
}

impl Options {
    /// Keeps the first mistake until the executor starts, so that the builder reads in one piece.
    pub(super) fn mistaken(&mut self, error: Error) {
        self.mistake.get_or_insert(error);
    }

    fn check(&mut self) -> Result<()> {
        if let Some(mistake) = self.mistake.take() {
            return Err(mistake);
        }
        if !(1..=MAX_SLOTS).contains(&self.slots) {
            return Err(Error::invalid(
                "slots",
                format!("{} is not from 1 to {MAX_SLOTS}", self.slots),
            ));
        }
        if self.queues.is_empty() {
            return Err(Error::invalid(
                "queues",
                "there are none; an executor serves at least one",
            ));
        }
        for queue in &self.queues {
            name("queue", queue)?;
        }
        self.queues.sort_unstable();
        self.queues.dedup();
        if self.heartbeat < SHORTEST_HEARTBEAT || self.lease < self.heartbeat * 3 {
            return Err(Error::invalid(
                "lease",
                format!(
                    "a lease of {:?} with a heartbeat of {:?} is too short; a lease lasts at least three heartbeats, \
                     and a heartbeat at least {SHORTEST_HEARTBEAT:?}",
                    self.lease, self.heartbeat
                ),
            ));
        }
        Ok(())
    }
}

/// A checked plan, shared by all lives of an executor.
pub(super) struct Plan {
    pub(super) jobs: Jobs,
    /// What it can run, at present.
    tasks: RwLock<Arc<Tasks>>,
    pub(super) name: String,
    /// Whether it was given, and not made up.
    pub(super) name_given: bool,
    pub(super) slots: usize,
    pub(super) queues: Vec<String>,
    pub(super) fairness: Fairness,
    scheme: Scheme,
    seed: u64,
    pub(super) heartbeat: Duration,
    pub(super) lease: Duration,
    pub(super) grace: Duration,
    pub(super) hook_limit: Duration,
    pub(super) log_limits: LogLimits,
    /// As many as there are slots, for the slots of all lives: a handler of an earlier life keeps its seat until it is gone.
    pub(super) seats: Arc<Semaphore>,
    /// So many slots are used at present, if there are more.
    pub(super) used: AtomicUsize,
    /// Whether an operator wants this executor to end.
    pub(super) dismissed: watch::Sender<bool>,
}

/// What a slot sits on while its life lasts. Whoever cannot be dropped with the slot shares it.
pub(crate) type Seat = Arc<OwnedSemaphorePermit>;

impl Plan {
    pub(super) fn new(jobs: Jobs, registry: Registry, mut options: Options) -> Result<Self> {
        options.check()?;
        let tasks = Tasks::new(registry, &options.queues, options.fairness)?;
        let name_given = options.name.is_some();
        let name = options.name.unwrap_or_else(host_name);
        self::name("executor name", &name)?;
        let slots = if options.inline_only { 0 } else { options.slots };
        Ok(Self {
            jobs,
            tasks: RwLock::new(Arc::new(tasks)),
            name,
            name_given,
            slots,
            seats: Arc::new(Semaphore::new(slots)),
            queues: options.queues,
            fairness: options.fairness,
            scheme: options.scheme,
            seed: fastrand::u64(..),
            heartbeat: options.heartbeat,
            lease: options.lease,
            grace: options.grace,
            hook_limit: options.hook_limit,
            log_limits: options.log_limits,
            used: AtomicUsize::new(usize::MAX),
            dismissed: watch::Sender::new(false),
        })
    }

    /// What it can run, at present. What was begun under it goes on under it, whatever is known later.
    pub(super) fn tasks(&self) -> Arc<Tasks> {
        Arc::clone(&self.tasks.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What it can run from now on. Returns what that was before.
    pub(super) fn set_tasks(&self, tasks: Arc<Tasks>) -> Arc<Tasks> {
        std::mem::replace(&mut *self.tasks.write().unwrap_or_else(PoisonError::into_inner), tasks)
    }

    /// Checks tasks that are to be known instead of the present ones.
    pub(super) fn other_tasks(&self, registry: Registry) -> Result<Tasks> {
        Tasks::new(registry, &self.queues, self.fairness)
    }

    /// A fresh memory of turns. Always with the same seed, so that a group's count begins where it did.
    pub(super) fn turns(&self) -> Turns {
        Turns::new(self.fairness, self.scheme.clone(), self.seed)
    }
}

/// The tasks that an executor knows, and what follows from them.
pub(super) struct Tasks {
    pub(super) registry: Registry,
    pub(super) names: Arc<turn::Tasks>,
    /// Names the place in the ring: the same for executors that take the same jobs by the same rules.
    pub(super) kind: String,
}

impl Tasks {
    fn new(mut registry: Registry, queues: &[String], fairness: Fairness) -> Result<Self> {
        registry.check()?;
        let names: Vec<String> = registry.settings().into_iter().map(|settings| settings.name).collect();
        Ok(Self {
            kind: kind(queues, &names, fairness),
            names: Arc::new(names.into_iter().map(Name::from).collect()),
            registry,
        })
    }
}

impl Life {
    /// How this life introduces itself to the store.
    pub(super) fn info(&self) -> ExecutorInfo {
        let mut tasks: Vec<String> = self.plan.tasks().names.iter().map(ToString::to_string).collect();
        tasks.sort_unstable();
        if self.plan.slots == 0 {
            // Nobody should wait for it to take anything.
            tasks.clear();
        }
        ExecutorInfo {
            incarnation: self.incarnation,
            name: self.plan.name.clone(),
            slots: self.plan.slots as u32,
            queues: self.plan.queues.clone(),
            tasks,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            beat: 0,
        }
    }
}

/// A short text that is the same wherever queues, tasks and fairness are: FNV-1a, since the hashes of the standard
/// library may differ from one build to the next.
fn kind(queues: &[String], tasks: &[String], fairness: Fairness) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut mix = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for part in [queues, tasks] {
        for name in part {
            name.bytes().for_each(&mut mix);
            mix(0);
        }
        mix(1);
    }
    let fairness = match fairness {
        Fairness::Jobs => "jobs",
        Fairness::Items => "items",
        Fairness::Time => "time",
    };
    format!("{fairness}-{hash:016x}")
}

fn host_name() -> String {
    std::env::var("HOSTNAME")
        .ok()
        .or_else(|| std::fs::read_to_string("/etc/hostname").ok())
        .map(|name| name.trim().to_owned())
        .filter(|text| name("executor name", text).is_ok())
        .unwrap_or_else(|| format!("executor-{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_the_same_for_the_same_queues_tasks_and_fairness_only() {
        let names = |list: &[&str]| list.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let one = kind(&names(&["default"]), &names(&["a", "b"]), Fairness::Jobs);
        assert_eq!(one, kind(&names(&["default"]), &names(&["a", "b"]), Fairness::Jobs));
        assert_ne!(one, kind(&names(&["default", "a"]), &names(&["b"]), Fairness::Jobs));
        assert_ne!(one, kind(&names(&["default"]), &names(&["ab"]), Fairness::Jobs));
        assert_ne!(one, kind(&names(&["default"]), &names(&["a", "b"]), Fairness::Time));
    }
}
