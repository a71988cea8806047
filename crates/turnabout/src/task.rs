//! What a task is: its name, its settings, and what is done with its arguments when a job is submitted.

use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};

use crate::hook::Hooks;
use crate::job::{JobId, Priority};
use crate::jobs::Jobs;
use crate::submit::Submitting;

mod args;
mod error;

pub use args::Args;
pub(crate) use error::Verdict;
pub use error::{BoxError, Failure, Refused, TaskError, TaskResult};

pub use crate::lifecycle::Policy;

/// A kind of work. The type that implements it holds the arguments of one job; the constants are the task's
/// settings, and all but the name have defaults.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use turnabout::{Refused, Submitting, Task};
///
/// #[derive(Serialize, Deserialize)]
/// struct Resize { image: String, width: u32 }
///
/// impl Task for Resize {
///     const NAME: &'static str = "resize";
///     const RETRIES: u32 = 2;
///     const MAX_UNFINISHED: Option<u32> = Some(20);
///
///     fn describe(&self) -> Option<String> {
///         Some(format!("{} to {} pixels", self.image, self.width))
///     }
///
///     async fn prepare(&mut self, _: &Submitting<'_>) -> Result<(), Refused> {
///         if self.width == 0 {
///             return Err(Refused::new("no-width", "An image must be at least one pixel wide."));
///         }
///         self.width = self.width.min(4096);
///         Ok(())
///     }
/// }
/// ```
///
/// Hooks that need the application's state are given to the executor, beside the handler:
/// [`Executor::on_error`](crate::Executor::on_error), [`on_cancelled`](crate::Executor::on_cancelled),
/// [`before_delete`](crate::Executor::before_delete), [`describe_error`](crate::Executor::describe_error).
pub trait Task: Serialize + DeserializeOwned + Send + 'static {
    /// The task's name, the same in every program that submits or runs it.
    const NAME: &'static str;
    /// Which executors may take its jobs, unless a submit says otherwise.
    const QUEUE: &'static str = "default";
    /// How urgent its jobs are, unless a submit says otherwise.
    const PRIORITY: Priority = Priority::Normal;
    /// How often a failed job is tried again.
    const RETRIES: u32 = 5;
    /// The delay before the first retry; doubled for each further one.
    const RETRY_DELAY: Duration = Duration::from_mins(1);
    /// No delay is longer than this.
    const RETRY_CAP: Duration = Duration::from_hours(6);
    /// Whether delays vary a little, so that jobs that failed together do not return together.
    const JITTER: bool = true;
    /// Whether a job may run a second time at all. `false`: it runs at most once, whatever happens.
    const RESTARTABLE: bool = true;
    /// How long an attempt may take. `None`: as long as it likes.
    const TIME_LIMIT: Option<Duration> = Some(Duration::from_mins(30));
    /// How long a job may wait until someone starts it: then it fails, as expired. `None`: as was said when the store was
    /// opened ([`Jobs::open`](crate::Jobs::open)), or for ever.
    const EXPIRES: Option<Duration> = None;
    /// At most so many unfinished jobs of this task may an owner have (jobs of a group that name no owner are counted
    /// together). A submit past that is [`Error::TooMany`](crate::Error::TooMany), and nothing is stored.
    const MAX_UNFINISHED: Option<u32> = None;

    /// Whether a handler is given a transaction, and how strictly that is kept apart from others (`PostgreSQL` only: on
    /// another store an executor of such a task does not start). What the handler writes in it and the job's success are
    /// committed together. Where two transactions are in each other's way, the attempt counts as failed, and the job is
    /// tried again soon.
    const TRANSACTION: Option<Isolation> = None;

    /// How many units of work this job holds, unless a submit says otherwise.
    fn items(&self) -> u32 {
        1
    }

    /// A line that tells people what this job is about. Stored with the job; cut off after 200 bytes.
    fn describe(&self) -> Option<String> {
        None
    }

    /// What everyone may know who sees the job, also those who do not see its arguments: its owner in a web page, for
    /// example. Small fields by their names; they are stored with the job when it is submitted by this type.
    fn public(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }

    /// The arguments as they are stored: JSON unless said otherwise. See [`Args`] for a compact binary form.
    fn encode(&self) -> Result<Args<'static>, BoxError> {
        Args::json(self)
    }

    /// The arguments as they were stored.
    fn decode(args: &Args<'_>) -> Result<Self, BoxError> {
        args.to_json()
    }

    /// Checks and completes the arguments when the job is submitted. An error stores nothing and reaches the caller as
    /// [`Error::Refused`](crate::Error::Refused).
    ///
    /// It runs where the code is. A job that was submitted without this type (by name, from SQL, on the command line)
    /// is prepared by the executor before each of its attempts, since what was completed is not written back; an error
    /// then fails the job for good. A job that was prepared when it was submitted is not prepared again.
    fn prepare(&mut self, _cx: &Submitting<'_>) -> impl Future<Output = Result<(), Refused>> + Send {
        std::future::ready(Ok(()))
    }

    /// Called where the job was submitted, after it was stored, and only if it is new. The job stands whatever happens
    /// here: an error is logged. Not called for jobs submitted inside a caller's transaction (which may yet be rolled
    /// back) or without this type.
    fn after_submit(&self, _job: JobId, _jobs: &Jobs) -> impl Future<Output = Result<(), BoxError>> + Send {
        std::future::ready(Ok(()))
    }
}

/// How strictly a handler's transaction is kept apart from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// Each statement sees what others have committed by then.
    ReadCommitted,
    /// All statements see what others had committed when the first one ran.
    RepeatableRead,
    /// As if transactions ran one after the other.
    Serializable,
}

/// A task's settings as data: what its constants say, published in the store for those who submit without the code.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TaskSettings {
    /// The task.
    pub name: String,
    /// Which executors may take its jobs.
    pub queue: String,
    /// How urgent its jobs are.
    pub priority: Priority,
    /// When and whether a job runs again.
    pub policy: Policy,
    /// How long an attempt may take.
    pub time_limit: Option<Duration>,
    /// How many unfinished jobs an owner may have.
    pub max_unfinished: Option<u32>,
    /// Which hooks its executors run, so that the store notes what is owed.
    pub hooks: Hooks,
}

impl TaskSettings {
    /// What a task's constants say.
    pub fn of<T: Task>() -> Self {
        Self {
            queue: T::QUEUE.to_owned(),
            priority: T::PRIORITY,
            policy: Policy {
                retries: T::RETRIES,
                retry_delay: T::RETRY_DELAY,
                retry_cap: T::RETRY_CAP,
                jitter: T::JITTER,
                restartable: T::RESTARTABLE,
            },
            time_limit: T::TIME_LIMIT,
            max_unfinished: T::MAX_UNFINISHED,
            ..Self::named(T::NAME)
        }
    }

    /// The defaults, for a task known only by its name.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            queue: "default".to_owned(),
            priority: Priority::Normal,
            policy: Policy::default(),
            time_limit: Some(Duration::from_mins(30)),
            max_unfinished: None,
            hooks: Hooks::NONE,
        }
    }
}
