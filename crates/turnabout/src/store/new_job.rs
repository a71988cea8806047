//! A job to be stored, and what became of that.

use jiff::Timestamp;

use super::{ID_AHEAD, ID_PAST};
use crate::clock::after;
use crate::error::{Error, Result};
use crate::job::{JobId, Meta, Priority, When};

/// A job to be stored. Its parts have been checked (see `submit.rs`).
#[derive(Clone, Debug, PartialEq)]
pub struct NewJob {
    /// Its id; made by the library unless the caller gave one.
    pub id: JobId,
    /// Whether the caller gave the id, so that it may name a job that exists already.
    pub id_given: bool,
    /// The task.
    pub task: String,
    /// The group.
    pub group: String,
    /// The owner.
    pub owner: Option<String>,
    /// The queue; `None`: as the task's published settings say, else `default`.
    pub queue: Option<String>,
    /// The priority; `None`: as the task's published settings say, else normal.
    pub priority: Option<Priority>,
    /// When it may start.
    pub when: When,
    /// If it is still waiting so long after, it fails.
    pub expires: When,
    /// A key that no other unfinished job of this group and task may have.
    pub unique: Option<String>,
    /// Its arguments, as JSON text.
    pub args: String,
    /// Whether its task has prepared them.
    pub prepared: bool,
    /// Units of work.
    pub items: u32,
    /// What it is about, for people.
    pub subject: Option<String>,
    /// How many unfinished jobs of this task its owner may have.
    pub max_unfinished: MaxUnfinished,
    /// What was set beside the arguments.
    pub meta: Meta,
    /// The job whose handler submits this one.
    pub parent: Option<JobId>,
}

/// How many unfinished jobs of its task a job's owner may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaxUnfinished {
    /// As the task's published settings say.
    #[default]
    AsPublished,
    /// Any number.
    Any,
    /// So many, this one included.
    AtMost(u32),
}

/// What became of a submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Submitted {
    /// The job: the new one, or the one that had the id or the unique key already.
    pub id: JobId,
    /// Whether the job is new.
    pub new: bool,
}

/// Whether an id that a caller gave can be right, for a job that is not known.
pub(crate) fn check_time(id: JobId, now: Timestamp) -> Result<()> {
    let Some(made) = id.time() else {
        return Err(Error::invalid("job id", "it is not a UUID of version 7"));
    };
    if made > after(now, ID_AHEAD) || after(made, ID_PAST) < now {
        let why = format!("its time, {made}, is more than 7 days ago or 24 hours ahead; make a new id");
        return Err(Error::invalid("job id", why));
    }
    Ok(())
}
