//! A job in brief: what those are told who follow many.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::lifecycle::{Change, keeps_progress};
use crate::progress::percent_of;

use super::{Job, JobId, Priority, Reason, State};

/// No error is told at greater length, in bytes.
const ERROR: usize = 1000;

/// A job without what may be large: its arguments, its result, what was set beside them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Brief {
    /// Its id.
    pub id: JobId,
    /// The task that it runs.
    pub task: String,
    /// What it is about, for people.
    pub subject: Option<String>,
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
    /// Whether it will end cancelled.
    pub cancelling: bool,
    /// How many units of work it holds.
    pub items: u32,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// Until when it is parked.
    pub due: Option<Timestamp>,
    /// When the attempt started that runs, or that ended it.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// How many attempts have counted.
    pub attempts: u32,
    /// How far it is, in whole percent.
    pub progress: u8,
    /// What its handler is doing at present.
    pub step: Option<String>,
    /// The last error; a long one is cut.
    pub error: Option<String>,
    /// The last error for people.
    pub error_message: Option<String>,
    /// The last error for programs.
    pub error_code: Option<String>,
    /// What it shows to everyone who may see it, see [`Job::public`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public: Option<String>,
}

impl From<&Job> for Brief {
    fn from(job: &Job) -> Self {
        Self {
            id: job.id,
            task: job.task.clone(),
            subject: job.subject.clone(),
            group: job.group.clone(),
            owner: job.owner.clone(),
            queue: job.queue.clone(),
            priority: job.priority,
            state: job.state,
            reason: job.reason,
            cancelling: job.cancelling,
            items: job.items,
            submitted: job.submitted,
            due: job.due,
            started: job.started,
            finished: job.finished,
            attempts: job.attempts,
            progress: job.progress,
            step: job.step.clone(),
            error: job.error.as_deref().map(cut),
            error_message: job.error_message.as_deref().map(cut),
            error_code: job.error_code.clone(),
            public: job.public().map(ToOwned::to_owned),
        }
    }
}

impl Brief {
    /// A job that a change has just ended.
    pub(crate) fn ended(job: &Job, change: &Change, now: Timestamp) -> Self {
        let kept = keeps_progress(change);
        Self {
            state: change.state,
            reason: change.reason,
            cancelling: false,
            attempts: change.attempts,
            due: None,
            finished: Some(now),
            progress: percent_of(change.state, Some(job.progress).filter(|_| kept)),
            step: job.step.clone().filter(|_| kept),
            ..Self::from(job)
        }
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(ERROR)].to_owned()
}
