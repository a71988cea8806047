//! What can go wrong, as far as a caller can act on it. Causes stay opaque sources.

use std::sync::Arc;

use crate::job::{JobId, State};

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What went wrong, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller asked for something that cannot be stored or understood. Nothing was changed.
    #[error("{what}: {why}")]
    Invalid {
        /// Which input.
        what: &'static str,
        /// What is wrong with it, and what would be right.
        why: String,
    },
    /// The task does not accept these arguments. Nothing was stored.
    #[error("{message}")]
    Refused {
        /// A word that programs can rely on.
        code: String,
        /// A sentence for people.
        message: String,
        /// The HTTP status that the task asks for.
        status: Option<u16>,
    },
    /// There is no such job (or not for this caller).
    #[error("there is no job {0}")]
    NotFound(JobId),
    /// There is no such schedule (or not for this caller).
    #[error("there is no schedule {0}")]
    NoSchedule(String),
    /// The schedule's previous job is unfinished.
    #[error("job {job} of schedule `{schedule}` is unfinished; wait for its end, cancel it, or force another one")]
    StillRuns {
        /// The schedule.
        schedule: String,
        /// The job.
        job: JobId,
    },
    /// The given id, or the unique key, is in use by someone else. It is not said by whom.
    #[error("the {0} is already in use; choose another")]
    Conflict(&'static str),
    /// The job has succeeded or failed already.
    #[error("job {id} cannot be cancelled: it is in state {state}, which is final")]
    NotCancellable {
        /// The job.
        id: JobId,
        /// Its state.
        state: State,
    },
    /// The job's state does not allow this.
    #[error("job {id} is {state}: {hint}")]
    WrongState {
        /// The job.
        id: JobId,
        /// Its state.
        state: State,
        /// What to do instead.
        hint: &'static str,
    },
    /// A limit on unfinished jobs was reached: try again when some have ended.
    #[error("{what} has {limit} unfinished jobs, which is its limit; try again when some of them have ended")]
    TooMany {
        /// Whose limit.
        what: String,
        /// The limit.
        limit: u32,
    },
    /// The group has unfinished jobs of so many tasks that no executor has ever published, and this would be one more.
    #[error(
        "no executor has published the task `{task}`, and the group `{group}` has unfinished jobs of {limit} such tasks \
         already, which is its limit; check the task's name, start an executor that runs it, or cancel jobs of tasks that nobody runs"
    )]
    TooManyUnknownTasks {
        /// The group.
        group: String,
        /// The task.
        task: String,
        /// The limit.
        limit: u32,
    },
    /// This executor is no longer registered: its lease ended and others took its jobs over.
    #[error("this executor's lease has ended; its jobs were handed to others")]
    LeaseLost,
    /// Another executor lives under this id.
    #[error("an executor with the id `{id}` lives already; give this one another id, or stop that one first")]
    IdTaken {
        /// The id.
        id: String,
    },
    /// The store was made by a newer program.
    #[error("{store} has schema version {found}, this program knows versions up to {known}; use a newer program")]
    NewerSchema {
        /// Which store.
        store: String,
        /// Its version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// The store could not be opened.
    #[error("cannot open {store}: {hint}")]
    Open {
        /// Which store, without its password.
        store: String,
        /// What to check.
        hint: String,
        /// Why.
        #[source]
        cause: Option<Cause>,
    },
    /// The store failed. It may be worth trying again, see [`Error::is_transient`].
    #[error("the store failed while {doing}")]
    Store {
        /// What was being done.
        doing: &'static str,
        /// Why.
        #[source]
        cause: Cause,
        /// Whether the same call may succeed later.
        transient: bool,
    },
}

impl Error {
    pub(crate) fn invalid(what: &'static str, why: impl Into<String>) -> Self {
        Self::Invalid { what, why: why.into() }
    }

    /// One error as the cause of many: what failed for all of those who shared a write.
    pub(crate) fn shared(doing: &'static str, error: &Arc<Self>) -> Self {
        Self::Store {
            doing,
            cause: Box::new(Shared(Arc::clone(error))),
            transient: error.is_transient(),
        }
    }

    /// Whether the same call may succeed later without any change: a lost connection, a busy database.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Store { transient: true, .. })
    }

    /// The HTTP status by which a web application tells its caller of this error. Of those from 500 on the caller should be
    /// told no more than that.
    pub fn http_status(&self) -> u16 {
        match self {
            Self::Invalid { .. } => 400,
            Self::Refused { status, .. } => status.unwrap_or(422),
            Self::NotFound(_) | Self::NoSchedule(_) => 404,
            Self::StillRuns { .. } | Self::Conflict(_) | Self::NotCancellable { .. } | Self::WrongState { .. } => 409,
            Self::TooMany { .. } | Self::TooManyUnknownTasks { .. } => 429,
            error if error.is_transient() => 503,
            _ => 500,
        }
    }

    /// The whole chain of causes in one line, for logs.
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// One error as the cause of many.
#[derive(Debug)]
struct Shared(Arc<Error>);

impl std::fmt::Display for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Shared {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&*self.0)
    }
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Some errors print their cause themselves.
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
