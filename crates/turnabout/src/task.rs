//! What a task is: its name, its settings, and what its handler may return.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};

use crate::job::Priority;
use crate::lifecycle::{Event, Policy};

/// A kind of work. The type that implements it holds the arguments of one job; the constants are the task's
/// settings, and all but the name have defaults.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use turnabout::Task;
///
/// #[derive(Serialize, Deserialize)]
/// struct Resize { image: String, width: u32 }
///
/// impl Task for Resize {
///     const NAME: &'static str = "resize";
///     const RETRIES: u32 = 2;
/// }
/// ```
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

    /// How many units of work this job holds, unless a submit says otherwise.
    fn items(&self) -> u32 {
        1
    }
}

/// A task's settings as data: what its constants say, published in the store for those who submit without the code.
#[derive(Clone, Debug, PartialEq)]
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
        }
    }
}

/// What a handler returns. `?` works on any error and means: try again later.
pub type TaskResult<T = ()> = Result<T, TaskError>;

/// Why an attempt did not succeed, and what should happen next.
pub struct TaskError {
    pub(crate) verdict: Verdict,
    pub(crate) message: String,
}

/// What a handler wants to happen after an attempt that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Retry,
    RetryAfter(Duration),
    Permanent,
    Snooze(Duration),
}

impl Verdict {
    pub(crate) fn event(self) -> Event {
        match self {
            Self::Retry => Event::Fail,
            Self::RetryAfter(delay) => Event::RetryAfter(delay),
            Self::Permanent => Event::FailForGood,
            Self::Snooze(delay) => Event::Snooze(delay),
        }
    }
}

impl TaskError {
    /// Trying again may help: the job is retried as its task says.
    pub fn retry(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(Verdict::Retry, error)
    }

    /// Trying again may help, but not before `delay` has passed.
    pub fn retry_after(delay: Duration, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(Verdict::RetryAfter(delay), error)
    }

    /// Trying again is useless: the job fails for good.
    pub fn permanent(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(Verdict::Permanent, error)
    }

    /// Nothing is wrong, but it is too early: call the handler again after `delay`. Does not count as an attempt.
    pub fn snooze(delay: Duration) -> Self {
        Self {
            verdict: Verdict::Snooze(delay),
            message: String::new(),
        }
    }

    fn new(verdict: Verdict, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            verdict,
            message: crate::error::chain(&*error.into()),
        }
    }
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for TaskError {
    fn from(error: E) -> Self {
        Self::retry(error)
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.verdict, self.message)
    }
}
