//! The nouns of a job: its id, state, priority, lane, claim, and the views of it that callers and executors see.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::lifecycle::Standing;

mod attempt;
mod brief;
mod id;
mod public;
mod rated;
mod restartable;
mod states;
mod when;

pub use attempt::Attempt;
pub use brief::Brief;

pub use id::JobId;
pub use public::PUBLIC;
pub(crate) use public::written as public_text;
pub use rated::RATE;
pub use restartable::RESTARTABLE;
#[cfg(feature = "postgres")]
pub(crate) use when::LONGEST;
pub use when::When;
pub(crate) use when::writable;

/// Defines an enum of named codes: one list gives the variants, the stored code and the word that people see.
macro_rules! coded {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant = $code),+ }

        impl $name {
            /// Every value, in the order of the codes.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The number that the stores keep.
            pub const fn code(self) -> i16 { self as i16 }

            /// The value with this number.
            pub fn from_code(code: i16) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.code() == code)
            }

            /// The word that people see.
            pub const fn as_str(self) -> &'static str { match self { $(Self::$variant => $word),+ } }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.pad(self.as_str()) }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                Self::ALL.iter().copied().find(|v| v.as_str() == text).ok_or_else(|| {
                    let words: Vec<_> = Self::ALL.iter().map(|v| v.as_str()).collect();
                    Error::invalid(stringify!($name), format!("`{text}` is none of {}", words.join(", ")))
                })
            }
        }
    };
}

coded! {
    /// Where a job is in its life. The rules are in `lifecycle.rs`.
    State {
        /// In the store, not taken; perhaps parked until its due time.
        Waiting = 0 "waiting",
        /// In an executor's hands, not started.
        Scheduled = 1 "scheduled",
        /// Its handler runs.
        Running = 2 "running",
        /// Failed, and will be retried when due.
        Stuck = 3 "stuck",
        /// Ended well.
        Success = 4 "success",
        /// Ended badly, for good.
        Failed = 5 "failed",
        /// Ended because someone asked for it.
        Cancelled = 6 "cancelled",
    }
}

impl State {
    /// Whether a job in this state never changes again (but by an explicit restart).
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Success | Self::Failed | Self::Cancelled)
    }
}

coded! {
    /// How urgent a job is among the jobs of its group.
    Priority {
        /// First, most of the time.
        High = 1 "high",
        /// Unless said otherwise.
        Normal = 2 "normal",
        /// When nothing else is to do, and now and then regardless.
        Low = 3 "low",
    }
}

coded! {
    /// How urgent a *ready* job is inside its group: due retries, then by priority.
    Lane {
        /// A job that failed and is due again.
        Retry = 0 "retry",
        /// See [`Priority::High`].
        High = 1 "high",
        /// See [`Priority::Normal`].
        Normal = 2 "normal",
        /// See [`Priority::Low`].
        Low = 3 "low",
    }
}

impl From<Priority> for Lane {
    fn from(priority: Priority) -> Self {
        match priority {
            Priority::High => Self::High,
            Priority::Normal => Self::Normal,
            Priority::Low => Self::Low,
        }
    }
}

coded! {
    /// Why a job is in its state.
    Reason {
        /// Its handler returned an error, or panicked.
        Error = 1 "error",
        /// Its handler said that trying again is useless, or its arguments could not be understood.
        Permanent = 2 "permanent",
        /// It ran longer than its task allows.
        TimedOut = 3 "timed-out",
        /// Its executor was shut down while it ran.
        Interrupted = 4 "interrupted",
        /// Its executor fell silent.
        Lost = 5 "lost",
        /// Nobody started it in time.
        Expired = 6 "expired",
        /// Someone who may asked for it to be cancelled.
        CancelRequested = 7 "cancel-requested",
        /// It had ended and was restarted.
        Restarted = 8 "restarted",
        /// Its handler asked to be called again later.
        Snoozed = 9 "snoozed",
        /// Its executor gave it back without having started it.
        Released = 10 "released",
        /// The rate of its key let no further job start.
        RateLimited = 11 "rate-limited",
    }
}

/// An error as its task describes it, beside its own text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Described {
    /// For people.
    pub message: Option<String>,
    /// For programs.
    pub code: Option<String>,
}

impl Described {
    /// A code that programs can rely on (`quota-exceeded`), and a sentence for people.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            message: Some(message.into()),
            code: Some(code.into()),
        }
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.message.is_none() && self.code.is_none()
    }
}

/// Names one handing-over of a job to an executor: the fence. Never used again, not even by the same executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    /// The executor's incarnation: a random UUID, new at each registration.
    pub executor: Uuid,
    /// That incarnation's own counter.
    pub number: i64,
}

/// As `turnabout.finish` takes it.
impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.executor, self.number)
    }
}

/// A small map set at submit and inherited by children: request id, locale, undo group.
pub type Meta = BTreeMap<String, String>;

/// A job as callers see it, unfinished or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// The task that it runs.
    pub task: String,
    /// Whose turn it takes.
    pub group: String,
    /// Who, inside the group, submitted it.
    pub owner: Option<String>,
    /// Which executors may take it.
    pub queue: String,
    /// How urgent it is inside its group.
    pub priority: Priority,
    /// Where it is in its life.
    pub state: State,
    /// Why it is there.
    pub reason: Option<Reason>,
    /// Whether someone asked to cancel it while an executor holds it. It will end cancelled.
    pub cancelling: bool,
    /// What it is about, for people.
    pub subject: Option<String>,
    /// Its arguments, as JSON text.
    #[serde(serialize_with = "as_json", deserialize_with = "from_json")]
    pub args: String,
    /// Whether its task has prepared the arguments.
    pub prepared: bool,
    /// How many units of work it holds.
    pub items: u32,
    /// The key that no other unfinished job of this group and task may have.
    pub unique: Option<String>,
    /// What was set beside the arguments.
    pub meta: Meta,
    /// The job whose handler submitted this one.
    pub parent: Option<JobId>,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// Until when it is parked. None: it is ready, held, or ended.
    pub due: Option<Timestamp>,
    /// If it is still waiting then, it fails.
    pub expires: Option<Timestamp>,
    /// When the attempt started that runs, or that ended it.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// How many attempts have counted.
    pub attempts: u32,
    /// How often a shutdown interrupted it.
    pub interruptions: u32,
    /// How often it was lost with its executor.
    pub losses: u32,
    /// How far it is, in whole percent: what its handler has reported while it runs, 100 once it has succeeded, how far it
    /// came if it has failed or was cancelled, else 0.
    pub progress: u8,
    /// What its handler is doing at present, or did when it failed or was cancelled, in a few words.
    pub step: Option<String>,
    /// The last error, with its causes.
    pub error: Option<String>,
    /// The last error for people, where its task has words for it.
    pub error_message: Option<String>,
    /// The last error for programs, where its task has a code for it.
    pub error_code: Option<String>,
    /// What its handler returned, as JSON text.
    #[serde(serialize_with = "as_optional_json", deserialize_with = "from_optional_json")]
    pub result: Option<String>,
    /// Who holds it, or who held it when it ended.
    pub claim: Option<Claim>,
    /// The name of that executor, also after it has left.
    #[serde(default)]
    pub executor: Option<String>,
    /// Its lane, if it is ready.
    pub lane: Option<Lane>,
    /// Its place in the lane.
    pub seq: i64,
}

impl Job {
    /// The arguments, decoded.
    pub fn args<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.args).map_err(|e| Error::invalid("arguments", e.to_string()))
    }

    /// What the handler returned, decoded; `None` unless the job succeeded with a result.
    pub fn result<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.result
            .as_deref()
            .map(|text| serde_json::from_str(text).map_err(|e| Error::invalid("result", e.to_string())))
            .transpose()
    }

    /// Leaves out what may be large.
    pub(crate) fn shorten(&mut self) {
        "null".clone_into(&mut self.args);
        self.result = None;
    }

    /// What the rules need to know of it.
    pub fn standing(&self) -> Standing {
        Standing {
            state: self.state,
            reason: self.reason,
            cancelling: self.cancelling,
            priority: self.priority,
            ready: self.lane.is_some(),
            attempts: self.attempts,
            interruptions: self.interruptions,
            losses: self.losses,
        }
    }
}

fn as_json<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let raw: &serde_json::value::RawValue = serde_json::from_str(text).map_err(serde::ser::Error::custom)?;
    raw.serialize(serializer)
}

fn as_optional_json<S: serde::Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    match text {
        Some(text) => as_json(text, serializer),
        None => serializer.serialize_none(),
    }
}

fn from_json<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
    Ok(Box::<str>::from(raw).into_string())
}

fn from_optional_json<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let raw = Option::<Box<serde_json::value::RawValue>>::deserialize(deserializer)?;
    Ok(raw.map(|raw| Box::<str>::from(raw).into_string()))
}

/// A job as an executor holds it: what an attempt needs, and no more, since this is decoded for every job run.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// Its id.
    pub id: JobId,
    /// The number of the claim by which it is held.
    pub number: i64,
    /// The task that it runs.
    pub task: String,
    /// Its group.
    pub group: String,
    /// Its owner.
    pub owner: Option<String>,
    /// Its priority.
    pub priority: Priority,
    /// The lane that it was taken from.
    pub lane: Lane,
    /// Its place in that lane.
    pub seq: i64,
    /// Its arguments, as JSON text.
    pub args: String,
    /// Whether its task has prepared them.
    pub prepared: bool,
    /// How many units of work it holds.
    pub items: u32,
    /// What was set beside the arguments.
    pub meta: Meta,
    /// The job whose handler submitted this one.
    pub parent: Option<JobId>,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// How many attempts have counted so far, this one not yet.
    pub attempts: u32,
    /// How often a shutdown interrupted it.
    pub interruptions: u32,
    /// How often it was lost with its executor.
    pub losses: u32,
}

impl Claimed {
    /// A job that was taken from a lane by the claim of this number.
    pub(crate) fn of(job: &Job, lane: Lane, number: i64) -> Self {
        Self {
            id: job.id,
            prepared: job.prepared,
            number,
            task: job.task.clone(),
            group: job.group.clone(),
            owner: job.owner.clone(),
            priority: job.priority,
            lane,
            seq: job.seq,
            args: job.args.clone(),
            items: job.items,
            meta: job.meta.clone(),
            parent: job.parent,
            submitted: job.submitted,
            attempts: job.attempts,
            interruptions: job.interruptions,
            losses: job.losses,
        }
    }

    /// What the rules need to know of it.
    pub fn standing(&self) -> Standing {
        Standing {
            state: State::Scheduled,
            reason: None,
            cancelling: false,
            priority: self.priority,
            ready: false,
            attempts: self.attempts,
            interruptions: self.interruptions,
            losses: self.losses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_codes_lead_back_to_the_same_value() {
        for state in State::ALL {
            assert_eq!(State::from_code(state.code()), Some(*state));
            assert_eq!(state.as_str().parse::<State>().expect("a state"), *state);
        }
        assert!(
            "done"
                .parse::<State>()
                .expect_err("no such state")
                .to_string()
                .contains("waiting, scheduled")
        );
    }
}
