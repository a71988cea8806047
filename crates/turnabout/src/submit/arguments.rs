//! The arguments of a job on its way into the store: what their task does with them before and after.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::error::{Error, Result, panic_message};
use crate::hook::{LIMIT, guard};
use crate::job::{JobId, Meta, Priority};
use crate::jobs::Jobs;
use crate::store::{MaxUnfinished, Submitted};
use crate::task::{Args, BoxError, Refused, Task};

/// The surroundings of a job that is being prepared, see [`Task::prepare`].
#[derive(Clone, Copy, Debug)]
pub struct Submitting<'a> {
    pub(crate) group: &'a str,
    pub(crate) owner: Option<&'a str>,
    pub(crate) meta: &'a Meta,
    pub(crate) jobs: &'a Jobs,
}

impl<'a> Submitting<'a> {
    /// The group that the job belongs to.
    pub fn group(&self) -> &'a str {
        self.group
    }

    /// Who submits it.
    pub fn owner(&self) -> Option<&'a str> {
        self.owner
    }

    /// What was set beside the arguments.
    pub fn meta(&self) -> &'a Meta {
        self.meta
    }

    /// The handle on all jobs. With [`Jobs::state`] it has what the application gave it.
    pub fn jobs(&self) -> &'a Jobs {
        self.jobs
    }
}

/// What a submission is given, and what becomes of it.
pub(super) enum Arguments {
    /// By type: not prepared yet.
    Typed(Box<dyn Typed>),
    /// As JSON text: prepared.
    Prepared(String),
    /// As JSON text, or why they could not be written as such; of a task known only by name.
    Text(Result<String>),
}

impl Arguments {
    /// The text, and whether the task has prepared it.
    pub(super) fn text(self) -> Result<(String, bool)> {
        match self {
            Self::Typed(task) => Ok((task.encode()?, false)),
            Self::Prepared(text) => Ok((text, true)),
            Self::Text(text) => Ok((text?, false)),
        }
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed(_) => f.write_str("(not encoded yet)"),
            Self::Prepared(text) => f.write_str(text),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// A [`Task`] without its type.
pub(crate) trait Typed: Send {
    fn prepare<'a>(&'a mut self, cx: &'a Submitting<'a>) -> BoxFuture<'a, Result<(), Refused>>;
    fn encode(&self) -> Result<String>;
    fn items(&self) -> u32;
    fn describe(&self) -> Option<String>;
    fn public(&self) -> Map<String, Value>;
    fn after_submit<'a>(&'a self, job: JobId, jobs: &'a Jobs) -> BoxFuture<'a, Result<(), BoxError>>;
}

impl<T: Task> Typed for T {
    fn prepare<'a>(&'a mut self, cx: &'a Submitting<'a>) -> BoxFuture<'a, Result<(), Refused>> {
        Box::pin(Task::prepare(self, cx))
    }

    fn encode(&self) -> Result<String> {
        written(Task::encode(self))
    }

    fn items(&self) -> u32 {
        Task::items(self)
    }

    fn describe(&self) -> Option<String> {
        Task::describe(self)
    }

    fn public(&self) -> Map<String, Value> {
        Task::public(self)
    }

    fn after_submit<'a>(&'a self, job: JobId, jobs: &'a Jobs) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(Task::after_submit(self, job, jobs))
    }
}

/// What a task's type says of the jobs that are submitted by it.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub(super) name: &'static str,
    pub(super) queue: &'static str,
    pub(super) priority: Priority,
    pub(super) expires: Option<Duration>,
    pub(super) max_unfinished: MaxUnfinished,
    /// Arguments that came as text.
    pub(super) read: fn(&str) -> Result<Box<dyn Typed>>,
}

impl Known {
    pub(crate) fn of<T: Task>() -> Self {
        Self {
            name: T::NAME,
            queue: T::QUEUE,
            priority: T::PRIORITY,
            expires: T::EXPIRES,
            max_unfinished: T::MAX_UNFINISHED.map_or(MaxUnfinished::Any, MaxUnfinished::AtMost),
            read: read::<T>,
        }
    }
}

fn read<T: Task>(args: &str) -> Result<Box<dyn Typed>> {
    let refused = |why: String| Error::Refused {
        code: "refused".to_owned(),
        status: None,
        message: format!("the arguments are none of the task `{}`: {why}", T::NAME),
    };
    match catch_unwind(|| T::decode(&Args::stored(args))) {
        Ok(Ok(task)) => Ok(Box::new(task)),
        Ok(Err(error)) => Err(refused(error.to_string())),
        Err(panic) => Err(refused(format!("its task panicked: {}", panic_message(&*panic)))),
    }
}

/// The text of arguments, or what is wrong with them.
pub(super) fn written(args: Result<Args<'static>, BoxError>) -> Result<String> {
    args.map(Args::into_text)
        .map_err(|e| Error::invalid("arguments", format!("they cannot be encoded as JSON: {e}")))
}

/// Lets a task prepare its arguments.
pub(super) async fn prepare(task: &mut dyn Typed, cx: &Submitting<'_>) -> Result<()> {
    match guard(LIMIT, async { task.prepare(cx).await }).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(Refused { described, status })) => Err(Error::Refused {
            code: described.code.unwrap_or_default(),
            message: described.message.unwrap_or_default(),
            status,
        }),
        Err(why) => Err(Error::Refused {
            code: "refused".to_owned(),
            status: None,
            message: format!("the job could not be prepared: the task's hook {why}"),
        }),
    }
}

/// What a task says of its arguments.
pub(super) struct Told {
    pub(super) text: String,
    pub(super) items: u32,
    pub(super) subject: Option<String>,
    pub(super) public: Map<String, Value>,
}

/// Asks a task about its arguments. If it panics nothing is stored, but for want of a subject line no job is refused.
pub(super) fn tell(task: &dyn Typed, describe: bool) -> Result<Told> {
    let panicked = |panic: Box<dyn Any + Send>| Error::Refused {
        code: "refused".to_owned(),
        status: None,
        message: format!(
            "the job could not be written down: its task panicked: {}",
            panic_message(&*panic)
        ),
    };
    let told = catch_unwind(AssertUnwindSafe(|| (task.encode(), task.items(), task.public())));
    let (text, items, public) = told.map_err(panicked)?;
    let subject = catch_unwind(AssertUnwindSafe(|| task.describe().filter(|_| describe)));
    let subject = subject.unwrap_or_else(|panic| {
        tracing::error!(
            why = panic_message(&*panic),
            "describe panicked; the job is submitted without a subject"
        );
        None
    });
    Ok(Told {
        text: text?,
        items,
        subject,
        public,
    })
}

/// Lets a task do what it wants to do now that its job is stored.
pub(super) async fn after_submit(task: Option<Box<dyn Typed>>, outcome: &Result<Submitted>, jobs: &Jobs) {
    let (Some(task), Ok(Submitted { id, new: true })) = (task, outcome) else {
        return;
    };
    let why = match guard(LIMIT, async move { task.after_submit(*id, jobs).await }).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => crate::error::chain(&*error),
        Err(why) => why,
    };
    tracing::error!(job = %id, why, "the hook after_submit failed; the job stands");
}
