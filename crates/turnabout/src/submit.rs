//! Submitting: what a caller may say about a job, and the one place where it is checked.
//!
//! [`Submission`] gathers; its task prepares the arguments, `Submission::check` turns all of it into a [`NewJob`] that
//! every store can hold. A caller's mistake is an error before anything is stored, and in a batch it is an error of that
//! job alone.

use std::future::IntoFuture;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::group::{KeyRate, Rate};
use crate::job::{JobId, Meta, PUBLIC, Priority, RATE, RESTARTABLE, When, public_text};
use crate::jobs::Jobs;
use crate::store::{MaxUnfinished, NewJob, Submitted};
use crate::task::{Args, Task};

mod arguments;
mod expiry;
pub(crate) mod many;
mod names;

use arguments::Arguments;
pub use arguments::Submitting;
pub(crate) use arguments::{Known, Typed};
pub(crate) use expiry::Expiry;
pub use many::ManySubmitted;
pub(crate) use many::submit_all;
pub(crate) use names::subject;
pub(crate) use names::{group_name, name};
use names::{key, meta};

/// No job holds more units of work: so many can be counted by every store.
const MAX_ITEMS: u32 = i32::MAX as u32;

/// The group of jobs for which nobody says one.
pub(crate) const DEFAULT_GROUP: &str = "default";

/// A job to be submitted: a task with its arguments, and what is said about it. For batches, and for tasks known
/// only by name; a single job is submitted more directly by [`Jobs::submit`].
#[derive(Debug)]
#[must_use = "a submission does nothing until it is given to `Jobs::submit_all`"]
pub struct Submission {
    id: Option<JobId>,
    task: String,
    args: Arguments,
    group: Option<String>,
    owner: Option<String>,
    queue: Option<String>,
    priority: Option<Priority>,
    when: When,
    expires: When,
    unique: Option<String>,
    /// `None`: as the arguments say.
    items: Option<u32>,
    subject: Option<String>,
    max_unfinished: MaxUnfinished,
    meta: Meta,
    /// `None`: as the arguments say.
    public: Option<Map<String, Value>>,
    parent: Option<JobId>,
    /// `None`: as the task says.
    restartable: Option<bool>,
    rate: Option<KeyRate>,
    /// How long it may wait, as its task says.
    patience: Option<Duration>,
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
    /// If nobody has started the job by then (a duration from now, or a moment), it fails. Unless said: as its task says
    /// ([`Task::EXPIRES`]), or as was said when the store was opened.
    fn expires(when: impl Into<When>) |s| s.expires = when.into();
    /// Whether the job may run a second time, where its task says otherwise. `false`: at most once, whatever happens.
    fn restartable(restartable: bool) |s| s.restartable = Some(restartable);
    /// Jobs with the same key start no more often than this, over all executors, groups and tasks. Those over the rate are put
    /// off, each until a time of its own. Where jobs of one key say different rates, each is held to its own.
    fn rate(key: impl Into<String>, rate: Rate) |s| s.rate = Some(KeyRate::new(key, rate));
    /// While an unfinished job of this group and task has the same key, that job is returned instead of a new one.
    fn unique(key: impl Into<String>) |s| s.unique = Some(key.into());
    /// How many units of work the job holds.
    fn items(items: u32) |s| s.items = Some(items);
    /// A line that tells people what the job is about, where its task does not say.
    fn subject(subject: impl Into<String>) |s| s.subject = Some(subject.into());
    /// Sets an entry of the small map that travels with the job and is inherited by its children.
    fn meta(key: impl Into<String>, value: impl Into<String>) |s| s.meta.insert(key.into(), value.into());
    /// What everyone may know who sees the job, where its task does not say, see [`Task::public`].
    fn public(fields: Map<String, Value>) |s| s.public = Some(fields);
    /// The job's id (a UUID of version 7): submitting the same id again is the same job, also after it ended.
    fn id(id: JobId) |s| s.id = Some(id);
    /// The job that this one belongs to.
    fn parent(parent: JobId) |s| s.parent = Some(parent);
}

impl Submission {
    /// A job that runs this task.
    pub fn new<T: Task>(task: T) -> Self {
        Self::by_type(&Known::of::<T>(), Box::new(task))
    }

    fn by_type(known: &Known, task: Box<dyn Typed>) -> Self {
        Self {
            queue: Some(known.queue.to_owned()),
            priority: Some(known.priority),
            patience: known.expires,
            max_unfinished: known.max_unfinished,
            ..Self::of(known.name.to_owned(), Arguments::Typed(task))
        }
    }

    /// A job that runs a task known only by its name. Queue, priority and the limit on unfinished jobs are as an
    /// executor that knows the task has published them, and the arguments are prepared by whoever runs it.
    pub fn named(task: impl Into<String>, args: impl Serialize) -> Self {
        Self::of(task.into(), Arguments::Text(arguments::written(Args::json(&args))))
    }

    fn of(task: String, args: Arguments) -> Self {
        Self {
            id: None,
            task,
            args,
            group: None,
            owner: None,
            queue: None,
            priority: None,
            when: When::Now,
            expires: When::Now,
            unique: None,
            items: None,
            subject: None,
            max_unfinished: MaxUnfinished::AsPublished,
            meta: Meta::new(),
            public: None,
            parent: None,
            restartable: None,
            rate: None,
            patience: None,
        }
    }

    /// Group, owner and meta of the job whose handler submits this one.
    pub(crate) fn child_of(mut self, parent: JobId, group: &str, owner: Option<&str>, meta: &Meta) -> Self {
        self.parent = Some(parent);
        self.group = Some(group.to_owned());
        self.owner = owner.map(ToOwned::to_owned);
        self.meta.clone_from(meta);
        // What the parent shows of itself is not the child's.
        self.meta.remove(PUBLIC);
        self.meta.remove(RESTARTABLE);
        self.meta.remove(RATE);
        self
    }

    /// The task that was named.
    pub(crate) fn task(&self) -> &str {
        &self.task
    }

    /// Of a job that was submitted by its task's name, makes one that was submitted by its type. What the caller said stays.
    pub(crate) fn recognise(&mut self, known: &Known) -> Result<()> {
        let Arguments::Text(args) = &mut self.args else {
            return Ok(());
        };
        let typed = (known.read)(&std::mem::replace(args, Ok(String::new()))?)?;
        let usual = Self::by_type(known, typed);
        self.args = usual.args;
        self.queue = self.queue.take().or(usual.queue);
        self.priority = self.priority.or(usual.priority);
        self.patience = usual.patience;
        self.max_unfinished = usual.max_unfinished;
        Ok(())
    }

    /// Lets the task prepare its arguments, and writes them down. Returns the task, for what it wants to do when the
    /// job is stored.
    pub(crate) async fn prepare(&mut self, jobs: &Jobs) -> Result<Option<Box<dyn Typed>>> {
        let Arguments::Typed(task) = &mut self.args else {
            return Ok(None);
        };
        let cx = Submitting {
            group: self.group.as_deref().unwrap_or(DEFAULT_GROUP),
            owner: self.owner.as_deref(),
            meta: &self.meta,
            jobs,
        };
        arguments::prepare(&mut **task, &cx).await?;
        let told = arguments::tell(&**task, self.subject.is_none())?;
        self.items.get_or_insert(told.items);
        self.subject = self.subject.take().or(told.subject);
        self.public.get_or_insert(told.public);
        let written = Arguments::Prepared(told.text);
        match std::mem::replace(&mut self.args, written) {
            Arguments::Typed(task) => Ok(Some(task)),
            _ => Ok(None),
        }
    }

    /// When it expires, where neither the caller nor its task says so.
    pub(crate) fn expire(&mut self, expiry: &Expiry) {
        if self.expires == When::Now {
            self.expires = match self.patience {
                Some(time) => expiry::from(self.when, time),
                None => expiry.of(&self.task, self.when),
            };
        }
    }

    /// A job that a store can hold, or what is wrong with it. `max_args` is in bytes; `id` makes
    /// one where none was given.
    pub(crate) fn check(self, max_args: usize, id: impl FnOnce() -> JobId) -> Result<NewJob> {
        name("task", &self.task)?;
        let group = self.group.unwrap_or_else(|| DEFAULT_GROUP.to_owned());
        group_name(&group)?;
        for (what, text) in [("owner", &self.owner), ("queue", &self.queue)] {
            if let Some(text) = text {
                name(what, text)?;
            }
        }
        if let Some(unique) = &self.unique {
            key("unique key", unique)?;
        }
        expiry::in_time(self.when, self.expires)?;
        let mut entries = self.meta;
        if let Some(text) = self.public.as_ref().map(public_text).transpose()?.flatten() {
            entries.insert(PUBLIC.to_owned(), text);
        }
        if let Some(restartable) = self.restartable {
            entries.insert(RESTARTABLE.to_owned(), restartable.to_string());
        }
        if let Some(rate) = &self.rate {
            name("rate key", &rate.key)?;
            entries.insert(RATE.to_owned(), rate.to_string());
        }
        meta(&entries)?;
        let items = self.items.unwrap_or(1);
        if items == 0 {
            return Err(Error::invalid("items", "a job holds at least 1 unit of work, not 0"));
        }
        if items > MAX_ITEMS {
            let why = format!("a job holds at most {MAX_ITEMS} units of work, not {items}; make several jobs of it");
            return Err(Error::invalid("items", why));
        }
        let (args, prepared) = self.args.text()?;
        args_length(&args, max_args)?;
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
            prepared,
            items,
            subject: self.subject.as_deref().and_then(subject),
            max_unfinished: self.max_unfinished,
            meta: entries,
            parent: self.parent,
        })
    }
}

/// Arguments are no longer, in bytes of JSON.
pub(crate) fn args_length(args: &str, max_args: usize) -> Result<()> {
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
    Ok(())
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

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    pub(crate) fn task(&self) -> &str {
        &self.submission.task
    }

    /// A job that nobody takes for so long, unless by its id. It must not say itself when it is to run.
    pub(crate) fn parked(mut self, meanwhile: Duration) -> Result<Self> {
        if self.submission.when != When::Now {
            return Err(Error::invalid("delay", "a job that is run at once has none"));
        }
        self.submission.when = When::After(meanwhile);
        Ok(self)
    }
}

impl IntoFuture for Submit {
    type Output = Result<Submitted>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (job, task) = self.jobs.accept(self.submission).await?;
            let named = job.task.clone();
            let outcomes = self.jobs.store().submit(vec![job]).await?;
            crate::meter::submitted(std::iter::once(&*named), &outcomes);
            let outcome = outcomes.into_iter().next().unwrap_or_else(|| Err(no_answer()));
            arguments::after_submit(task, &outcome, &self.jobs).await;
            outcome
        })
    }
}

fn no_answer() -> Error {
    Error::Store {
        doing: "submitting",
        cause: "the store did not say what became of the job".into(),
        transient: false,
    }
}

mod within;

#[cfg(test)]
mod tests;
