//! What can be said about a schedule, and the one place where it is checked.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use turnabout_calendar::Expression;

use super::{ScheduleKey, Times};
use crate::error::{Error, Result};
use crate::job::Priority;

/// No schedule has more exclusions.
const MAX_EXCLUSIONS: usize = 64;
/// No schedule is spread over more.
const MAX_JITTER: Duration = Duration::from_hours(24);

coded! {
    /// What becomes of a time that comes while the previous job is unfinished.
    Overlap {
        /// There is no job for it, and that is recorded.
        Skip = 0 "skip",
        /// Its job is submitted when the previous one has ended. Further times that come meanwhile are skipped.
        Wait = 1 "wait",
        /// The previous job is cancelled; when it has ended, this one is submitted.
        Cancel = 2 "cancel",
        /// Its job is submitted all the same.
        Allow = 3 "allow",
    }
}

/// What becomes of times at which no executor was there to fire them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missed {
    /// One job for all of them: for the last.
    #[default]
    One,
    /// None of them has a job, except for one that is less than a minute late.
    Skip,
    /// Each has its job, but of more than so many only the last ones. They run one after the other, unless overlap is
    /// allowed.
    Each(u32),
}

impl Missed {
    /// No more times are made up for.
    pub const MAX: u32 = 1000;
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One => f.write_str("one"),
            Self::Skip => f.write_str("skip"),
            Self::Each(limit) => write!(f, "each {limit}"),
        }
    }
}

impl FromStr for Missed {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let limit = |limit: &str| {
            limit
                .trim()
                .parse()
                .ok()
                .filter(|limit| (1..=Self::MAX).contains(limit))
        };
        match text {
            "one" => Ok(Self::One),
            "skip" => Ok(Self::Skip),
            _ => text
                .strip_prefix("each ")
                .and_then(limit)
                .map(Self::Each)
                .ok_or_else(|| {
                    let why = format!("`{text}` is none of one, skip, each N (N from 1 to {})", Self::MAX);
                    Error::invalid("missed", why)
                }),
        }
    }
}

/// Days or times that are left out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Exclusion {
    /// From the first to the last of these days, both included, in the schedule's zone: `2026-12-24`,
    /// `2026-12-24..2027-01-01`.
    Days(Date, Date),
    /// Times that are also times of this expression: `Sat,Sun *-*-* *:*:*`.
    Times(Box<Expression>),
}

impl FromStr for Exclusion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<Date>(), last.trim().parse::<Date>()) {
            if last < first {
                let why = format!("`{text}` ends before it begins; write the earlier day first");
                return Err(Error::invalid("exclude", why));
            }
            return Ok(Self::Days(first, last));
        }
        let expression = Expression::parse(text).map_err(|error| {
            let why = format!(
                "`{text}` is neither a day (2026-12-24), nor days (2026-12-24..2027-01-01), nor an expression: {error}"
            );
            Error::invalid("exclude", why)
        })?;
        Ok(Self::Times(Box::new(expression)))
    }
}

/// Defines the parts of a schedule once: the whole, a change of some of them, and what both have in common.
macro_rules! parts {
    ($($(#[$attr:meta])+ $part:ident: $type:ty;)+) => {
        /// What is said about a schedule.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct Definition {
            $($(#[$attr])+ pub $part: $type,)+
        }

        /// What is to be different about a schedule; what is left out stays as it is.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct ScheduleChange {
            $(#[doc = concat!("See [`Definition::", stringify!($part), "`].")] pub $part: Option<$type>,)+
        }

        impl Definition {
            /// The parts in which two differ, by name.
            pub(crate) fn differences(&self, other: &Self) -> BTreeSet<String> {
                let mut parts = BTreeSet::new();
                $(if self.$part != other.$part {
                    parts.insert(stringify!($part).to_owned());
                })+
                parts
            }

            /// This one, but with these parts of another.
            pub(crate) fn with_parts(mut self, parts: &BTreeSet<String>, other: &Self) -> Self {
                $(if parts.contains(stringify!($part)) {
                    self.$part = other.$part.clone();
                })+
                self
            }

            /// This one, changed.
            pub fn with(mut self, change: &ScheduleChange) -> Self {
                $(if let Some(part) = &change.$part {
                    self.$part = part.clone();
                })+
                self
            }
        }
    };
}

parts! {
    /// The task that its jobs run.
    task: String;
    /// Their arguments, as JSON text.
    args: String;
    /// Which executors may take them. None: as the task says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    queue: Option<String>;
    /// How urgent they are inside their group. None: as the task says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<Priority>;
    /// A line about them, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<String>;
    /// When: cron, a calendar event, or an interval.
    expression: String;
    /// The time zone, by its IANA name, unless the expression names one.
    zone: String;
    /// Whether it is fired at all. An operator pauses it instead, with a note.
    #[serde(default = "yes")]
    enabled: bool;
    /// What becomes of a time that comes while the previous job is unfinished.
    overlap: Overlap;
    /// What becomes of times at which no executor was there.
    #[serde(with = "text")]
    missed: Missed;
    /// It is fired up to so much later than its times: by how much is always the same for one schedule, and different
    /// for others.
    #[serde(default)]
    jitter: Duration;
    /// No time before this one counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<Timestamp>;
    /// No time after this one counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<Timestamp>;
    /// Days or times that are left out, see [`Exclusion`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    exclude: Vec<String>;
}

/// The parts that say when a schedule is due.
const OF_TIME: [&str; 6] = ["expression", "zone", "jitter", "start", "end", "exclude"];

impl Definition {
    /// Jobs of this task at these times, and nothing else said.
    pub fn new(task: impl Into<String>, expression: impl Into<String>) -> Self {
        Self {
            task: task.into(),
            args: "{}".to_owned(),
            queue: None,
            priority: None,
            subject: None,
            expression: expression.into(),
            zone: "UTC".to_owned(),
            enabled: true,
            overlap: Overlap::Skip,
            missed: Missed::One,
            jitter: Duration::ZERO,
            start: None,
            end: None,
            exclude: Vec::new(),
        }
    }

    /// An error if it cannot be stored or understood. `max_args` is in bytes.
    pub fn check(&self, key: &ScheduleKey, max_args: usize, now: Timestamp) -> Result<()> {
        key.check()?;
        crate::submit::name("task", &self.task)?;
        if let Some(queue) = &self.queue {
            crate::submit::name("queue", queue)?;
        }
        crate::submit::args_length(&self.args, max_args)?;
        if serde_json::from_str::<serde::de::IgnoredAny>(&self.args).is_err() {
            return Err(Error::invalid("arguments", "they are not JSON"));
        }
        if self.jitter > MAX_JITTER {
            return Err(Error::invalid("jitter", "at most 24 hours are allowed"));
        }
        if let (Some(start), Some(end)) = (self.start, self.end)
            && end < start
        {
            let why = format!("{end} is before the start, {start}");
            return Err(Error::invalid("end", why));
        }
        if let Missed::Each(limit) = self.missed
            && !(1..=Missed::MAX).contains(&limit)
        {
            return Err(Error::invalid(
                "missed",
                format!("from 1 to {} times can be made up for", Missed::MAX),
            ));
        }
        if self.exclude.len() > MAX_EXCLUSIONS {
            let why = format!("there are {}; at most {MAX_EXCLUSIONS} are allowed", self.exclude.len());
            return Err(Error::invalid("exclude", why));
        }
        Times::new(self, key, now).map(drop)
    }

    /// What every database can hold: a subject is one line.
    pub(crate) fn tidy(mut self) -> Self {
        self.subject = self.subject.as_deref().and_then(crate::submit::subject);
        self
    }

    /// The expression, or where it is wrong.
    pub(crate) fn parsed(&self) -> Result<Expression> {
        Expression::parse(&self.expression).map_err(|error| Error::invalid("expression", error.to_string()))
    }

    /// The zone, or why there is none.
    pub(crate) fn time_zone(&self) -> Result<TimeZone> {
        turnabout_calendar::zone(&self.zone).map_err(|error| Error::invalid("zone", error.to_string()))
    }

    /// Whether two are due at the same times.
    pub(crate) fn is_due_as(&self, other: &Self) -> bool {
        let differences = self.differences(other);
        OF_TIME.iter().all(|part| !differences.contains(*part))
    }
}

fn yes() -> bool {
    true
}

/// As it is printed.
mod text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "so serde calls it")]
    pub(super) fn serialize<S: Serializer>(value: &super::Missed, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<super::Missed, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
