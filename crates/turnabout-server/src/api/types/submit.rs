//! Submitting jobs: what is said about one, and what became of it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use turnabout::{JobId, Priority};
use utoipa::ToSchema;

use super::{JobView, PriorityWord, Problem};

/// A job to be submitted. Only its task is needed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SubmitRequest {
    /// The task that it runs.
    #[schema(required = true, min_length = 1, max_length = 200)]
    pub(crate) task: String,
    /// Its arguments: whatever the task's handler takes. An empty object unless said otherwise. They are kept as they are
    /// written, also numbers with more digits than most programs can hold.
    #[schema(value_type = Value)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) args: Option<Box<RawValue>>,
    /// A line about it, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<String>,
    /// Whose turn it takes. `default` unless said otherwise, or the caller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// Who, inside the group, submits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// Which executors may take it. As its task says unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<String>,
    /// How urgent it is inside its group. As its task says unless said otherwise.
    #[schema(value_type = Option<PriorityWord>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priority: Option<Priority>,
    /// It starts so long from now at the earliest: `90s`, `5 minutes`, `1 day`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<String>,
    /// It starts at this moment at the earliest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Timestamp>,
    /// If nobody has started it so long from now, it fails. As its task or the server says unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<String>,
    /// Whether it may run a second time. False: at most once, whatever happens. As its task says unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) restartable: Option<bool>,
    /// Jobs with the same key start no more often than this, over all executors, groups and tasks: `10/m for KEY`,
    /// `100/s burst 20 for KEY`. With the token of a group, the key is the group's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<String>,
    /// While an unfinished job of this group and task has the same key, that job is returned instead of a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unique: Option<String>,
    /// The job that it belongs to, of which it is shown as a child.
    #[schema(value_type = Option<Uuid>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<JobId>,
    /// How many units of work it holds: 1 unless said otherwise.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<u32>,
    /// A small map of texts that travels with the job and is inherited by its children.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) meta: BTreeMap<String, String>,
    /// What everyone may know who sees the job, also those who do not see its arguments: a small object. As its task says
    /// unless said otherwise.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) public: Option<serde_json::Map<String, serde_json::Value>>,
    /// Whether to mint a token for this job, with which a browser can look at it and cancel it for 15 minutes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) token: bool,
    /// Its id (a UUID of version 7): the same id again is the same job, also after it ended.
    #[schema(value_type = Option<Uuid>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<JobId>,
}

/// What became of a submit.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Submitted)]
pub(crate) struct SubmittedView {
    /// The job: the new one, or the one that had the id or the unique key already.
    #[schema(value_type = Uuid)]
    pub(crate) id: JobId,
    /// Whether it is new.
    pub(crate) new: bool,
    /// The job as it is now, unless `Prefer: return=minimal` was sent. Null also if it is gone already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) job: Option<JobView>,
    /// What may be wrong with it, although it is stored: no executor that runs knows its task, for example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) warning: Option<String>,
    /// A token for this job, if that was asked for (and if the job is not someone else's that was there before).
    #[serde(flatten)]
    pub(crate) token: SubmittedToken,
}

/// A token that comes with a submit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SubmittedToken {
    /// The token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_expires: Option<Timestamp>,
}

/// Jobs to be submitted together.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchRequest {
    /// From 1 to 1000 jobs. Read one by one, so that one that cannot be understood is refused alone.
    #[schema(min_items = 1, max_items = 1000, value_type = Vec<SubmitRequest>)]
    pub(crate) jobs: Vec<Box<RawValue>>,
}

/// What became of a batch: an outcome for each job, in their order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct BatchOutcome {
    /// How many jobs are stored, whether they are new or not.
    pub(crate) accepted: u32,
    /// How many were refused.
    pub(crate) refused: u32,
    /// One for each.
    pub(crate) outcomes: Vec<ItemOutcome>,
}

/// What became of one job of a batch.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ItemOutcome {
    /// What a submit of this job alone would have been answered with: 200, 201, or an error.
    pub(crate) status: u16,
    /// The job, if it was accepted.
    #[schema(value_type = Option<Uuid>)]
    pub(crate) id: Option<JobId>,
    /// Whether it is new.
    pub(crate) new: Option<bool>,
    /// The job as it is now, unless `Prefer: return=minimal` was sent. Null also if it is gone already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) job: Option<JobView>,
    /// A token for this job, if that was asked for.
    #[serde(flatten)]
    pub(crate) token: SubmittedToken,
    /// Why it was refused.
    pub(crate) problem: Option<Problem>,
}

/// A job's new priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetPriority {
    /// How urgent it is from now on.
    #[schema(value_type = PriorityWord)]
    pub(crate) priority: Priority,
}

/// What a job returned.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = JobResult)]
pub(crate) struct ResultView {
    /// The job.
    #[schema(value_type = Uuid)]
    pub(crate) id: JobId,
    /// What its handler returned; null if nothing.
    #[schema(value_type = Option<Value>)]
    pub(crate) result: Option<Box<RawValue>>,
}

impl From<JobView> for ResultView {
    fn from(job: JobView) -> Self {
        Self {
            id: job.id,
            result: job.result,
        }
    }
}
