//! Submitting: what a caller may say about a job, and the one place where it is checked.
//!
//! [`Submission`] gathers, [`Submission::check`] turns it into a [`NewJob`] that every store can hold. A caller's
//! mistake is an error before anything is stored, and in a batch it is an error of that job alone.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::job::{JobId, Meta, Priority, When};
use crate::jobs::Jobs;
use crate::store::{NewJob, Submitted};
use crate::task::Task;

/// No name is longer, in bytes.
pub(crate) const MAX_NAME: usize = 200;
/// No job carries more entries in its meta.
const MAX_META: usize = 32;
/// Keys and values of a job's meta together are no longer, in bytes.
const MAX_META_BYTES: usize = 4096;
/// A batch is handed to the store in portions of so many jobs ..
const PORTION: usize = 10_000;
/// .. and of about so many bytes of arguments, so that no single write grows without bound.
const PORTION_BYTES: usize = 8 << 20;

/// A job to be submitted: a task with its arguments, and what is said about it. For batches, and for tasks known
/// only by name; a single job is submitted more directly by [`Jobs::submit`].
#[derive(Debug)]
#[must_use = "a submission does nothing until it is given to `Jobs::submit_all`"]
pub struct Submission {
    id: Option<JobId>,
    task: String,
    /// As JSON text, or why they could not be written as such.
    args: Result<String>,
    group: Option<String>,
    owner: Option<String>,
    queue: Option<String>,
    priority: Option<Priority>,
    when: When,
    expires: When,
    unique: Option<String>,
    items: u32,
    meta: Meta,
    parent: Option<JobId>,
}

/// Defines the same settings for [`Submission`] and for [`Submit`], which is one with a [`Jobs`] to go to.
macro_rules! settings {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),+) |$this:ident| $body:expr;)+) => {
        impl Submission {
            $($(#[$doc])* pub fn $name(mut self, $($arg: $type),+) -> Self {
                let $this = &mut self;
                $body;
                self
            })+
        }

        impl Submit {
            $($(#[$doc])* pub fn $name(mut self, $($arg: $type),+) -> Self {
                self.submission = self.submission.$name($($arg),+);
                self
            })+
        }
    };
}

settings! {
    /// Whose turn the job takes. `default` unless said otherwise.
    fn group(group: impl Into<String>) |s| s.group = Some(group.into());
    /// Who, inside the group, submits the job.
    fn owner(owner: impl Into<String>) |s| s.owner = Some(owner.into());
    /// Which executors may take the job.
    fn queue(queue: impl Into<String>) |s| s.queue = Some(queue.into());
    /// How urgent the job is inside its group.
    fn priority(priority: Priority) |s| s.priority = Some(priority);
    /// The job starts so long from now at the earliest.
    fn delay(delay: Duration) |s| s.when = When::After(delay);
    /// The job starts at this moment at the earliest.
    fn at(moment: Timestamp) |s| s.when = When::At(moment);
    /// If nobody has started the job by then (a duration from now, or a moment), it fails.
    fn expires(when: impl Into<When>) |s| s.expires = when.into();
    /// While an unfinished job of this group and task has the same key, that job is returned instead of a new one.
    fn unique(key: impl Into<String>) |s| s.unique = Some(key.into());
    /// How many units of work the job holds.
    fn items(items: u32) |s| s.items = items;
    /// Sets an entry of the small map that travels with the job and is inherited by its children.
    fn meta(key: impl Into<String>, value: impl Into<String>) |s| s.meta.insert(key.into(), value.into());
    /// The job's id (a UUID of version 7): submitting the same id again is the same job, also after it ended.
    fn id(id: JobId) |s| s.id = Some(id);
    /// The job that this one belongs to.
    fn parent(parent: JobId) |s| s.parent = Some(parent);
}

impl Submission {
    /// A job that runs this task.
    pub fn new<T: Task>(task: T) -> Self {
        Self {
            queue: Some(T::QUEUE.to_owned()),
            priority: Some(T::PRIORITY),
            items: task.items(),
            ..Self::named(T::NAME, task)
        }
    }

    /// A job that runs a task known only by its name. Queue and priority are as an executor that knows the task has
    /// published them.
    pub fn named(task: impl Into<String>, args: impl Serialize) -> Self {
        Self {
            id: None,
            task: task.into(),
            args: serde_json::to_string(&args)
                .map_err(|e| Error::invalid("arguments", format!("they cannot be written as JSON: {e}"))),
            group: None,
            owner: None,
            queue: None,
            priority: None,
            when: When::Now,
            expires: When::Now,
            unique: None,
            items: 1,
            meta: Meta::new(),
            parent: None,
        }
    }

    /// Group, owner and meta of the job whose handler submits this one.
    pub(crate) fn child_of(mut self, parent: JobId, group: &str, owner: Option<&str>, meta: &Meta) -> Self {
        self.parent = Some(parent);
        self.group = Some(group.to_owned());
        self.owner = owner.map(ToOwned::to_owned);
        self.meta.clone_from(meta);
        self
    }

    /// A job that a store can hold, or what is wrong with it. `max_args` is in bytes; `id` makes
    /// one where none was given.
    pub(crate) fn check(self, max_args: usize, id: impl FnOnce() -> JobId) -> Result<NewJob> {
        name("task", &self.task)?;
        let group = self.group.unwrap_or_else(|| "default".to_owned());
        group_name(&group)?;
        for (what, text) in [
            ("owner", &self.owner),
            ("queue", &self.queue),
            ("unique key", &self.unique),
        ] {
            if let Some(text) = text {
                name(what, text)?;
            }
        }
        meta(&self.meta)?;
        if self.items == 0 {
            return Err(Error::invalid("items", "a job holds at least 1 unit of work, not 0"));
        }
        let args = self.args?;
        if args.len() > max_args {
            return Err(Error::invalid(
                "arguments",
                format!(
                    "they take {} bytes as JSON, over the limit of {max_args}; store large data elsewhere and pass a \
                     reference to it",
                    args.len()
                ),
            ));
        }
        Ok(NewJob {
            id: self.id.unwrap_or_else(id),
            id_given: self.id.is_some(),
            task: self.task,
            group,
            owner: self.owner,
            queue: self.queue,
            priority: self.priority,
            when: self.when,
            expires: self.expires,
            unique: self.unique,
            args,
            items: self.items,
            meta: self.meta,
            parent: self.parent,
        })
    }
}

impl<T: Task> From<T> for Submission {
    fn from(task: T) -> Self {
        Self::new(task)
    }
}

impl From<Duration> for When {
    fn from(duration: Duration) -> Self {
        Self::After(duration)
    }
}

impl From<Timestamp> for When {
    fn from(moment: Timestamp) -> Self {
        Self::At(moment)
    }
}

/// A name of any kind: not empty, not too long, and nothing in it that a terminal or a database chokes on.
pub(crate) fn name(what: &'static str, text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::invalid(what, "it is empty; give it a name"));
    }
    if text.len() > MAX_NAME {
        return Err(Error::invalid(
            what,
            format!("it has {} bytes; at most {MAX_NAME} are allowed", text.len()),
        ));
    }
    if let Some(bad) = text.chars().find(|c| c.is_control()) {
        return Err(Error::invalid(
            what,
            format!("it contains the control character {bad:?}; use printable characters only"),
        ));
    }
    Ok(())
}

/// A group's name may be a path.
pub(crate) fn group_name(text: &str) -> Result<()> {
    name("group", text)?;
    if text.split('/').any(str::is_empty) {
        return Err(Error::invalid(
            "group",
            format!("`{text}` begins or ends with `/` or has `//`; write a path as `acme/alice`"),
        ));
    }
    Ok(())
}

fn meta(meta: &Meta) -> Result<()> {
    for (key, value) in meta {
        name("meta key", key)?;
        if value.contains('\0') {
            return Err(Error::invalid(
                "meta",
                format!("the value of `{key}` contains a NUL byte"),
            ));
        }
    }
    let bytes: usize = meta.iter().map(|(key, value)| key.len() + value.len()).sum();
    if meta.len() > MAX_META || bytes > MAX_META_BYTES {
        return Err(Error::invalid(
            "meta",
            format!(
                "it has {} entries of {bytes} bytes together; at most {MAX_META} entries and {MAX_META_BYTES} bytes \
                 are allowed",
                meta.len()
            ),
        ));
    }
    Ok(())
}

/// A job on its way into the store: say more about it, then await it.
#[derive(Debug)]
#[must_use = "nothing is submitted until it is awaited"]
pub struct Submit {
    jobs: Jobs,
    submission: Submission,
}

impl Submit {
    pub(crate) fn new(jobs: Jobs, submission: Submission) -> Self {
        Self { jobs, submission }
    }
}

impl IntoFuture for Submit {
    type Output = Result<Submitted>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let job = self.jobs.check(self.submission)?;
            let outcomes = self.jobs.store().submit(vec![job]).await?;
            outcomes.into_iter().next().unwrap_or_else(|| Err(no_answer()))
        })
    }
}

/// Stores many jobs; one outcome for each, in their order.
pub(crate) async fn submit_all(jobs: &Jobs, submissions: Vec<Submission>) -> Vec<Result<Submitted>> {
    let mut outcomes: Vec<Option<Result<Submitted>>> = Vec::new();
    outcomes.resize_with(submissions.len(), || None);
    let mut portion = Vec::new();
    let mut places = Vec::new();
    let mut bytes = 0;
    let last = submissions.len().saturating_sub(1);
    for (at, submission) in submissions.into_iter().enumerate() {
        match jobs.check(submission) {
            Ok(job) => {
                bytes += job.args.len();
                portion.push(job);
                places.push(at);
            }
            Err(error) => outcomes[at] = Some(Err(error)),
        }
        if portion.len() >= PORTION || bytes >= PORTION_BYTES || (at == last && !portion.is_empty()) {
            let answers = store_portion(jobs, std::mem::take(&mut portion)).await;
            for (at, answer) in std::mem::take(&mut places).into_iter().zip(answers) {
                outcomes[at] = Some(answer);
            }
            bytes = 0;
        }
    }
    outcomes
        .into_iter()
        .map(|o| o.unwrap_or_else(|| Err(no_answer())))
        .collect()
}

async fn store_portion(jobs: &Jobs, portion: Vec<NewJob>) -> Vec<Result<Submitted>> {
    let count = portion.len();
    match jobs.store().submit(portion).await {
        Ok(answers) => answers,
        Err(error) => {
            // Each job of the portion was not stored, for one and the same reason.
            let error = Arc::new(error);
            std::iter::repeat_with(|| Err(Error::shared("submitting a batch", &error)))
                .take(count)
                .collect()
        }
    }
}

fn no_answer() -> Error {
    Error::Store {
        doing: "submitting",
        cause: "the store did not say what became of the job".into(),
        transient: false,
    }
}

#[cfg(feature = "postgres")]
mod within;

#[cfg(test)]
mod tests;
