//! What events tell of a job.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use turnabout::job::Brief;
use turnabout::{JobId, Priority, State};
use utoipa::ToSchema;

use super::{PriorityWord, StateWord};

/// One event of a stream, as a reader takes it off the wire. Only for the description: streams are written by `stream.rs`.
#[derive(ToSchema)]
#[schema(as = StreamEvent)]
#[expect(dead_code, reason = "only described")]
pub(crate) struct StreamEvent {
    /// What kind of event it is.
    event: String,
    /// What it tells: JSON, as text.
    data: String,
    /// Where the reader is now, to come back to.
    id: Option<String>,
}

/// Which jobs to follow, as `GET` takes it in the address.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FollowRequest {
    /// These jobs, by id; at most 1000. The stream ends (`end`) when all of them have.
    #[schema(value_type = Option<Vec<Uuid>>, max_items = 1000)]
    pub(crate) ids: Option<Vec<JobId>>,
    /// Those of this group.
    pub(crate) group: Option<String>,
    /// Those of this owner.
    pub(crate) owner: Option<String>,
    /// How many of the unfinished jobs are told at the beginning.
    #[schema(maximum = 1000)]
    pub(crate) initial: Option<u32>,
    /// Where an earlier stream left off.
    pub(crate) last_event_id: Option<String>,
}

/// A job in brief: without its arguments, its result, and what was set beside them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = JobBrief)]
pub(crate) struct BriefView {
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
    /// How many units of work it holds.
    pub(crate) items: u32,
    /// When it was submitted.
    pub(crate) submitted: Timestamp,
    /// Until when it is parked. None: it is ready, held, or ended.
    pub(crate) due: Option<Timestamp>,
    /// When the attempt started that runs, or that ended it.
    pub(crate) started: Option<Timestamp>,
    /// When it ended.
    pub(crate) finished: Option<Timestamp>,
    /// How many attempts have counted.
    pub(crate) attempts: u32,
    /// How far it is, in whole percent; 100 only once it has succeeded. Of a job that failed or was cancelled: how far it came.
    #[schema(maximum = 100)]
    pub(crate) progress: u8,
    /// What its handler is doing at present, or did when the job failed or was cancelled, in a few words.
    pub(crate) step: Option<String>,
    /// The last error, with its causes. In events a long one is cut.
    pub(crate) error: Option<String>,
    /// The last error for people, where its task has words for it.
    pub(crate) error_message: Option<String>,
    /// The last error for programs, where its task has a code for it.
    pub(crate) error_code: Option<String>,
    /// What its task, or whoever submitted it, shows to everyone who may see it: fields by their names.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub(crate) public: Option<serde_json::Value>,
}

impl From<&Brief> for BriefView {
    fn from(job: &Brief) -> Self {
        Self {
            id: job.id,
            task: job.task.clone(),
            subject: job.subject.clone(),
            group: job.group.clone(),
            owner: job.owner.clone(),
            queue: job.queue.clone(),
            priority: job.priority,
            state: job.state,
            reason: job.reason.map(|reason| reason.to_string()),
            cancelling: job.cancelling,
            items: job.items,
            submitted: job.submitted,
            due: job.due,
            started: job.started,
            finished: job.finished,
            attempts: job.attempts,
            progress: job.progress,
            step: job.step.clone(),
            error: job.error.clone(),
            error_message: job.error_message.clone(),
            error_code: job.error_code.clone(),
            public: job.public.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        }
    }
}
