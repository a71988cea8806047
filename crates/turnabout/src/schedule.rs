//! Schedules: jobs that are submitted again and again, by the calendar.
//!
//! A *schedule* is stored beside the jobs. It belongs to the system, to a group or to an owner, says which job to submit and
//! when, and remembers what it did last. Any executor may *fire* a due schedule: in one transaction the schedule is claimed
//! and moved on to its next time, and its job is stored. So no time is submitted twice, and none is lost with a process.
//!
//! Everything here is pure: `definition.rs` is what can be said about a schedule, `times.rs` at which times it is due,
//! `rules.rs` what is to be done about a due time, `edits.rs` what a change makes of a schedule. Stores read a schedule, ask
//! a rule, and write what it says.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::job::{Job, JobId, Meta};

mod definition;
mod edits;
mod rules;
#[cfg(test)]
mod tests;
mod times;

pub use definition::{Definition, Exclusion, Missed, Overlap, ScheduleChange};
pub(crate) use edits::edited;
pub use edits::{Edit, Edited};
pub use rules::RunNow;
pub(crate) use rules::{Firing, fire, run_now};
pub use times::Times;

pub use crate::store::schedules::{ScheduleEvent, ScheduleEventKind, ScheduleFilter};

/// So many runs are kept of each schedule.
pub(crate) const RUNS_KEPT: i64 = 100;
/// No call of backfill submits more jobs.
pub const MAX_BACKFILL: usize = 1000;
/// A schedule that waits for its previous job to end looks again so often.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Which schedule: its name, and whose it is. A name is unique for the system, for each group, and for each owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ScheduleKey {
    /// The group that it belongs to. None: it is the system's, and its jobs are of the group `default`.
    pub group: Option<String>,
    /// The owner, inside the group, that it belongs to.
    pub owner: Option<String>,
    /// Its name.
    pub name: String,
}

impl ScheduleKey {
    /// A schedule of the system.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            group: None,
            owner: None,
            name: name.into(),
        }
    }

    /// The same name, of a group.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// The same name, of an owner inside the group.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// An error if it names no schedule.
    pub(crate) fn check(&self) -> Result<()> {
        crate::submit::name("schedule", &self.name)?;
        if self.name == "check" {
            // Its address in the API is taken.
            return Err(Error::invalid("schedule", "`check` cannot be a name; choose another"));
        }
        if let Some(group) = &self.group {
            crate::submit::group_name(group)?;
        }
        if let Some(owner) = &self.owner {
            crate::submit::name("owner", owner)?;
            if self.group.is_none() {
                return Err(Error::invalid(
                    "owner",
                    "an owner belongs to a group; say of which group the schedule is",
                ));
            }
        }
        Ok(())
    }

    /// A number that is always the same for the same key: where inside its jitter a schedule fires.
    pub(crate) fn hash(&self) -> u64 {
        let parts = [
            self.group.as_deref().unwrap_or(""),
            self.owner.as_deref().unwrap_or(""),
            &self.name,
        ];
        // FNV-1a; it must never change, so it is not left to a library. Then mixed, since near names give near numbers.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        mixed(hash)
    }
}

impl fmt::Display for ScheduleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.name)?;
        if let Some(group) = &self.group {
            write!(f, " of group `{group}`")?;
        }
        if let Some(owner) = &self.owner {
            write!(f, " and owner `{owner}`")?;
        }
        Ok(())
    }
}

/// A schedule as it is stored.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Schedule {
    /// Never changes, and is never used again.
    pub id: Uuid,
    /// Its name, and whose it is.
    pub key: ScheduleKey,
    /// What is in force.
    pub definition: Definition,
    /// What a deployment declared, and which.
    pub declared: Option<Declared>,
    /// The parts of a declared schedule that an operator has set: they survive the next deployment.
    pub set_by_operator: BTreeSet<String>,
    /// When it was made. Intervals count from here, unless there is a `start`.
    pub created: Timestamp,
    /// What it did, and will do.
    pub standing: Standing,
}

/// What a deployment declared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// Who declared it: `code`, the name of a configuration file.
    pub by: String,
    /// What they said.
    pub definition: Definition,
}

/// What a schedule did, and will do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Standing {
    /// Whether it is paused, and why.
    pub paused: Option<Paused>,
    /// The next time by its expression.
    pub next: Option<Timestamp>,
    /// When it will be fired for that: later by its jitter. None: never, see `stopped`.
    pub due: Option<Timestamp>,
    /// Why there is no next time, although it is not paused.
    pub stopped: Option<String>,
    /// Times that have come and wait for the previous job to end.
    pub waiting: Vec<Timestamp>,
    /// Jobs of this schedule that had not ended when it was last looked at.
    pub unfinished: Vec<JobId>,
    /// The last time that brought a job, and the job.
    pub last: Option<(Timestamp, JobId)>,
    /// The number of the last run.
    pub runs: i64,
}

/// A schedule that is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Since when.
    pub since: Timestamp,
    /// Why, for people.
    pub note: Option<String>,
    /// Who paused it, if that is known.
    pub by: Option<String>,
}

coded! {
    /// What became of a time of a schedule.
    RunKind {
        /// A job was submitted.
        Fired = 1 "fired",
        /// The previous job was unfinished.
        Skipped = 2 "skipped",
        /// Nobody was there to fire it in time.
        Missed = 3 "missed",
        /// The job was not accepted.
        Refused = 4 "refused",
    }
}

/// One time of a schedule (or several missed ones), and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Run {
    /// Counts up.
    pub number: i64,
    /// The time; of several missed ones the first.
    pub time: Timestamp,
    /// How many times: more than one only if they were missed. Of more than 1000, at least so many.
    pub count: u32,
    /// What became of it.
    pub kind: RunKind,
    /// When that was decided.
    pub at: Timestamp,
    /// How much later that was than it should have been.
    pub late: Duration,
    /// The job.
    pub job: Option<JobId>,
    /// Why there is none.
    pub why: Option<String>,
}

impl Schedule {
    /// Whether it will be fired again, as things are.
    pub fn is_active(&self) -> bool {
        self.standing.due.is_some()
    }

    /// The group that its jobs are of.
    pub fn job_group(&self) -> &str {
        self.key.group.as_deref().unwrap_or(crate::submit::DEFAULT_GROUP)
    }

    /// Its times, or what is wrong with its expression.
    pub fn times(&self) -> Result<Times> {
        Times::new(&self.definition, &self.key, self.created)
    }

    /// The id of the job for one of its times: the same whenever and wherever it is made, as far as ids of that age are
    /// accepted, so that a second submit for one time would be the same job.
    pub(crate) fn job_id(&self, time: Timestamp, now: Timestamp) -> (JobId, bool) {
        let oldest = crate::clock::before(now, crate::store::ID_PAST / 2);
        if time < oldest || time > now {
            return (JobId::at(now), false);
        }
        let micros = time.as_microsecond() as u64;
        let id = self.id.as_u128();
        let low = mixed(id as u64 ^ mixed(micros));
        let high = mixed((id >> 64) as u64 ^ low);
        let mut random = [0; 10];
        random[..8].copy_from_slice(&low.to_be_bytes());
        random[8..].copy_from_slice(&high.to_be_bytes()[..2]);
        let millis = u64::try_from(time.as_millisecond()).unwrap_or(0);
        let id = uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid();
        (JobId(id), true)
    }
}

/// The entry of a job's meta that names its schedule.
pub const META_NAME: &str = "schedule";
/// The entry of a job's meta that says for which time it was submitted.
pub const META_TIME: &str = "schedule.time";
/// The entry of a job's meta with the schedule's id.
pub const META_ID: &str = "schedule.id";

/// The time for which a job was submitted by a schedule: its own, or that of the job which submitted it.
pub(crate) fn time_of(meta: &Meta) -> Option<Timestamp> {
    meta.get(META_TIME)?.parse().ok()
}

impl Job {
    /// The time of the schedule for which this job, or the one that submitted it, was submitted. None: by no schedule.
    pub fn scheduled_for(&self) -> Option<Timestamp> {
        time_of(&self.meta)
    }
}

/// A number that has nothing to do with its neighbour's (splitmix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
