//! A job as the API shows it, and what belongs to one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnabout::{Attempt, Job, JobId, Priority, State};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{PriorityWord, StateWord};

/// A job, unfinished or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Job)]
pub(crate) struct JobView {
    /// Its id, a UUID of version 7.
    #[schema(value_type = Uuid)]
    pub(crate) id: JobId,
    /// The task that it runs.
    pub(crate) task: String,
    /// A line about it, for people.
    pub(crate) subject: Option<String>,
    /// Whose turn it takes.
    pub(crate) group: String,
    /// Who, inside the group, submitted it.
    pub(crate) owner: Option<String>,
    /// Which executors may take it.
    pub(crate) queue: String,
    /// How urgent it is inside its group.
    #[schema(value_type = PriorityWord)]
    pub(crate) priority: Priority,
    /// Where it is in its life.
    #[schema(value_type = StateWord)]
    pub(crate) state: State,
    /// Why it is there.
    pub(crate) reason: Option<String>,
    /// Whether someone asked to cancel it while an executor holds it. It will end cancelled.
    pub(crate) cancelling: bool,
    /// Its arguments.
    pub(crate) args: Value,
    /// How many units of work it holds.
    pub(crate) items: u32,
    /// The key that no other unfinished job of this group and task may have.
    pub(crate) unique: Option<String>,
    /// What was set beside the arguments.
    pub(crate) meta: BTreeMap<String, String>,
    /// The job whose handler submitted this one.
    #[schema(value_type = Option<Uuid>)]
    pub(crate) parent: Option<JobId>,
    /// When it was submitted.
    pub(crate) submitted: Timestamp,
    /// Until when it is parked. None: it is ready, held, or ended.
    pub(crate) due: Option<Timestamp>,
    /// If it is still waiting then, it fails.
    pub(crate) expires: Option<Timestamp>,
    /// When the attempt started that runs, or that ended it.
    pub(crate) started: Option<Timestamp>,
    /// When it ended.
    pub(crate) finished: Option<Timestamp>,
    /// How many attempts have counted.
    pub(crate) attempts: u32,
    /// How often a shutdown interrupted it.
    pub(crate) interruptions: u32,
    /// How often it was lost with its executor.
    pub(crate) losses: u32,
    /// How far it is, in whole percent; 100 only once it has succeeded.
    #[schema(maximum = 100)]
    pub(crate) progress: u8,
    /// What its handler is doing at present, in a few words.
    pub(crate) step: Option<String>,
    /// The last error, with its causes.
    pub(crate) error: Option<String>,
    /// The last error for people, where its task has words for it.
    pub(crate) error_message: Option<String>,
    /// The last error for programs, where its task has a code for it.
    pub(crate) error_code: Option<String>,
    /// What its handler returned.
    pub(crate) result: Option<Value>,
    /// The executor that holds it, or held it when it ended.
    pub(crate) executor: Option<Uuid>,
}

/// JSON text as a value; text that is no JSON (a task may store its arguments otherwise) as a string.
fn value(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

impl From<Job> for JobView {
    fn from(job: Job) -> Self {
        Self {
            id: job.id,
            task: job.task,
            subject: job.subject,
            group: job.group,
            owner: job.owner,
            queue: job.queue,
            priority: job.priority,
            state: job.state,
            reason: job.reason.map(|reason| reason.to_string()),
            cancelling: job.cancelling,
            args: value(job.args),
            items: job.items,
            unique: job.unique,
            meta: job.meta,
            parent: job.parent,
            submitted: job.submitted,
            due: job.due,
            expires: job.expires,
            started: job.started,
            finished: job.finished,
            attempts: job.attempts,
            interruptions: job.interruptions,
            losses: job.losses,
            progress: job.progress,
            step: job.step,
            error: job.error,
            error_message: job.error_message,
            error_code: job.error_code,
            result: job.result.map(value),
            executor: job.claim.map(|claim| claim.executor),
        }
    }
}

/// What came of a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CancelOutcome {
    /// The job is cancelled.
    Cancelled,
    /// An executor holds the job: it was told to stop, and the job will end cancelled.
    Cancelling,
}

impl From<turnabout::Cancel> for CancelOutcome {
    fn from(outcome: turnabout::Cancel) -> Self {
        match outcome {
            turnabout::Cancel::Cancelled => Self::Cancelled,
            turnabout::Cancel::Cancelling => Self::Cancelling,
        }
    }
}

/// A job that was cancelled, or will be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Cancelled {
    /// The job.
    #[schema(value_type = Uuid)]
    pub(crate) id: JobId,
    /// What came of it.
    pub(crate) outcome: CancelOutcome,
}

/// Why a job is where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Explanation)]
#[expect(clippy::struct_excessive_bools, reason = "each is a reason of its own to wait")]
pub(crate) struct Explained {
    /// The job.
    #[schema(value_type = Uuid)]
    pub(crate) id: JobId,
    /// Where it is in its life.
    #[schema(value_type = StateWord)]
    pub(crate) state: State,
    /// A few plain sentences.
    pub(crate) text: String,
    /// Seconds until it is due, if it is parked.
    pub(crate) parked: Option<f64>,
    /// Its place in its group, beginning with 1, if it is ready.
    pub(crate) place: Option<u64>,
    /// How many groups take turns in its queue (counted up to a limit).
    pub(crate) groups: u64,
    /// Whether its group is paused.
    pub(crate) group_paused: bool,
    /// Whether its task is paused.
    pub(crate) task_paused: bool,
    /// Whether so many jobs of its group run that no further one may.
    pub(crate) group_full: bool,
    /// Whether so many jobs of its task run that no further one may.
    pub(crate) task_full: bool,
    /// Whether some executor serves its queue, knows its task and was not told to take no more.
    pub(crate) known: bool,
    /// For how many seconds none of those was heard of, if it is so long that they may be gone.
    pub(crate) silent: Option<f64>,
}

/// What became of a job's attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Attempts {
    /// Oldest first; of very many, the newest.
    pub(crate) attempts: Vec<AttemptView>,
}

/// One attempt: one that runs, or has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Attempt)]
pub(crate) struct AttemptView {
    /// Which attempt it was.
    pub(crate) number: u32,
    /// The executor that ran it.
    pub(crate) executor: Uuid,
    /// When it started.
    pub(crate) started: Timestamp,
    /// When it ended. None: it runs.
    pub(crate) ended: Option<Timestamp>,
    /// Why it ended as it did. None: it succeeded, or it runs.
    pub(crate) reason: Option<String>,
    /// What went wrong, with its causes.
    pub(crate) error: Option<String>,
    /// What went wrong, for people.
    pub(crate) error_message: Option<String>,
    /// What went wrong, for programs.
    pub(crate) error_code: Option<String>,
}

impl From<Attempt> for AttemptView {
    fn from(attempt: Attempt) -> Self {
        Self {
            number: attempt.number,
            executor: attempt.claim.executor,
            started: attempt.started,
            ended: attempt.ended,
            reason: attempt.reason.map(|reason| reason.to_string()),
            error: attempt.error,
            error_message: attempt.error_message,
            error_code: attempt.error_code,
        }
    }
}

/// One page of a job's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = LogPage)]
pub(crate) struct LogView {
    /// The lines, oldest first.
    pub(crate) lines: Vec<LineView>,
    /// Give this as `after` for the next page. None: there are no more, for now.
    pub(crate) next: Option<i64>,
}

/// A line of a job's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = LogLine)]
pub(crate) struct LineView {
    /// Grows; what is missing was dropped.
    pub(crate) number: i64,
    /// Of which attempt.
    pub(crate) attempt: u32,
    /// `trace`, `debug`, `info`, `warn` or `error`.
    pub(crate) level: String,
    /// When it was written.
    pub(crate) time: Timestamp,
    /// What it says.
    pub(crate) message: String,
}

impl From<turnabout::log::Line> for LineView {
    fn from(line: turnabout::log::Line) -> Self {
        Self {
            number: line.number,
            attempt: line.attempt,
            level: line.level.to_string(),
            time: line.time,
            message: line.message,
        }
    }
}
