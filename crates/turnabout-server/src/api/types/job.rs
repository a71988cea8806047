//! A job as the API shows it, and what belongs to one.

use std::collections::BTreeMap;
use std::ops::Deref;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use turnabout::job::Attempt;
use turnabout::job::{Brief, PUBLIC, RATE, RESTARTABLE};
use turnabout::{Job, JobId, State};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{BriefView, StateWord};

/// A job, unfinished or ended: what events tell of it, and the rest.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Job)]
pub(crate) struct JobView {
    #[serde(flatten)]
    pub(crate) brief: BriefView,
    /// Its arguments. Null for owners and browsers: what they may know is `public`.
    #[schema(value_type = Value)]
    pub(crate) args: Box<RawValue>,
    /// The key that no other unfinished job of this group and task may have.
    pub(crate) unique: Option<String>,
    /// What was set beside the arguments.
    pub(crate) meta: BTreeMap<String, String>,
    /// The job whose handler submitted this one.
    #[schema(value_type = Option<Uuid>)]
    pub(crate) parent: Option<JobId>,
    /// If it is still waiting then, it fails.
    pub(crate) expires: Option<Timestamp>,
    /// Whether it may run a second time, if that was said when it was submitted. None: as its task says.
    #[serde(default)]
    pub(crate) restartable: Option<bool>,
    /// How often jobs with its key may start, and the key, if it was submitted with one: `10/m for KEY`.
    #[serde(default)]
    pub(crate) rate: Option<String>,
    /// How often a shutdown interrupted it.
    pub(crate) interruptions: u32,
    /// How often it was lost with its executor.
    pub(crate) losses: u32,
    /// What its handler returned.
    #[schema(value_type = Option<Value>)]
    pub(crate) result: Option<Box<RawValue>>,
    /// The executor that holds it, or held it when it ended: its incarnation, which is another one after each start.
    pub(crate) executor: Option<Uuid>,
    /// What that executor is called, also after it has left.
    #[serde(default)]
    pub(crate) executor_name: Option<String>,
}

/// A job is all that it is in brief.
impl Deref for JobView {
    type Target = BriefView;

    fn deref(&self) -> &BriefView {
        &self.brief
    }
}

/// JSON text as it was written, so that no digit of a long number is lost; text that is no JSON (a task may store its
/// arguments otherwise) as a string.
pub(super) fn raw(text: &str) -> Box<RawValue> {
    let written = serde_json::from_str(text).or_else(|_| to_raw_value(text));
    // A text can always be written.
    written.unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Nothing, as JSON.
pub(crate) fn null() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}

impl From<Job> for JobView {
    fn from(mut job: Job) -> Self {
        let brief = BriefView::from(&Brief::from(&job));
        // They stand in fields of their own.
        let restartable = job.restartable();
        let rate = job.rate().map(|rate| rate.to_string());
        job.meta.remove(PUBLIC);
        job.meta.remove(RESTARTABLE);
        job.meta.remove(RATE);
        Self {
            args: raw(&job.args),
            result: job.result.as_deref().map(raw),
            executor: job.claim.map(|claim| claim.executor),
            executor_name: job.executor,
            unique: job.unique,
            meta: job.meta,
            parent: job.parent,
            expires: job.expires,
            restartable,
            rate,
            interruptions: job.interruptions,
            losses: job.losses,
            // In brief, long errors are cut.
            brief: BriefView {
                error: job.error,
                error_message: job.error_message,
                ..brief
            },
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

impl From<turnabout::jobs::Cancel> for CancelOutcome {
    fn from(outcome: turnabout::jobs::Cancel) -> Self {
        match outcome {
            turnabout::jobs::Cancel::Cancelled => Self::Cancelled,
            // Whatever else may come: it is not cancelled yet.
            _ => Self::Cancelling,
        }
    }
}

/// A job that was cancelled, or will be.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Cancelled {
    /// The job.
    #[schema(value_type = Uuid)]
    pub(crate) id: JobId,
    /// What came of it.
    pub(crate) outcome: CancelOutcome,
    /// The job as it is now. Null if it is gone already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) job: Option<JobView>,
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
    /// Whether everything is paused.
    #[serde(default)]
    pub(crate) all_paused: bool,
    /// Whether its queue is paused.
    #[serde(default)]
    pub(crate) queue_paused: bool,
    /// Whether its group is paused.
    pub(crate) group_paused: bool,
    /// Whether its task is paused.
    pub(crate) task_paused: bool,
    /// Whether so many jobs of its group run that no further one may.
    pub(crate) group_full: bool,
    /// Whether so many jobs of its task run that no further one may.
    pub(crate) task_full: bool,
    /// In how many seconds the rates of its group and task let a job start, if they do not now.
    #[serde(default)]
    pub(crate) rate_seconds: Option<f64>,
    /// Whether some executor serves its queue, knows its task and was not told to take no more.
    pub(crate) known: bool,
    /// For how many seconds none of those was heard of, if it is so long that they may be gone.
    pub(crate) silent: Option<f64>,
    /// Slots of the executors that would take it.
    #[serde(default)]
    pub(crate) slots: u64,
    /// If all of these are taken: by whom, the most first.
    #[serde(default)]
    pub(crate) taken_by: Vec<HolderView>,
    /// When it will start, if things go on as they have. None: nobody can say.
    #[serde(default)]
    pub(crate) predicted: Option<PredictedView>,
}

/// Who holds slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Holder)]
pub(crate) struct HolderView {
    /// The group. None: others.
    pub(crate) group: Option<String>,
    /// How many jobs of it executors hold.
    pub(crate) jobs: u64,
}

/// When a job will start, if things go on as they have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Predicted)]
pub(crate) struct PredictedView {
    /// Hardly before.
    pub(crate) earliest: Timestamp,
    /// Hardly later.
    pub(crate) latest: Timestamp,
    /// What that follows from, in words.
    pub(crate) basis: String,
}

impl From<turnabout::jobs::Holder> for HolderView {
    fn from(holder: turnabout::jobs::Holder) -> Self {
        Self {
            group: holder.group,
            jobs: holder.jobs,
        }
    }
}

impl From<turnabout::jobs::Predicted> for PredictedView {
    fn from(predicted: turnabout::jobs::Predicted) -> Self {
        Self {
            earliest: predicted.earliest,
            latest: predicted.latest,
            basis: predicted.basis,
        }
    }
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
    /// The executor that ran it: its incarnation, which is another one after each start.
    pub(crate) executor: Uuid,
    /// What that executor is called, also after it has left.
    #[serde(default)]
    pub(crate) executor_name: Option<String>,
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
            executor_name: attempt.executor,
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
