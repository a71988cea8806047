//! What goes over the wire, in both directions: the server writes it, the command line's client reads it.

mod audit;
mod doctor;
mod event;
mod executor;
mod failure;
mod given;
mod group;
mod job;
mod list;
mod me;
mod operation;
mod problem;
mod queue;
mod retention;
mod schedule;
mod share;
mod submit;
mod summary;
mod task;
mod token;
mod trend;

pub(crate) use audit::{AuditEntry, AuditPage};
pub(crate) use doctor::{Diagnosis, Finding, Severity};
pub(crate) use event::{BriefView, FollowRequest, StreamEvent};
pub(crate) use executor::{DrainRequest, DrainView, ExecutorView, Executors, ExitQuery, Running};
pub(crate) use failure::{FailureView, Failures};
pub(crate) use given::{Limit, RateLimit};
pub(crate) use group::{GroupChange, GroupSet, GroupSummary, Groups};
pub(crate) use job::{AttemptView, Attempts, CancelOutcome, Cancelled, Explained, JobView, LineView, LogView, null};
pub(crate) use list::{BulkOutcome, BulkRequest, BulkVerb, Count, JobPage, ListQuery};
pub(crate) use me::{Links, Me};
pub(crate) use operation::{OperationState, OperationView, Operations};
pub(crate) use problem::{Code, Problem};
pub(crate) use queue::{QueueChange, QueueSet, QueueView, Queues};
pub(crate) use retention::{GlobalChange, GlobalView, RetentionChange, RetentionView, Seconds};
pub(crate) use schedule::{
    BackfillRequest, CheckRequest, NextTimes, PauseRequest, RunRequest, RunView, Runs, ScheduleEventView, SchedulePage,
    ScheduleRequest, ScheduleView,
};
pub(crate) use share::{OldestReady, Rest, SetBy, ShareView, SharesView};
pub(crate) use submit::{
    BatchOutcome, BatchRequest, ItemOutcome, ResultView, SetPriority, SubmitRequest, SubmittedToken, SubmittedView,
};
pub(crate) use summary::{Rate, Summary, TaskSummary};
pub(crate) use task::{Published, TaskChange, TaskSet, TaskUse, TaskView, Tasks};
pub(crate) use token::{MintRequest, MintedView};
pub(crate) use trend::{Point, Trends};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The words for a job's state, for the API's description.
#[derive(ToSchema)]
#[schema(as = State)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the library's type")]
pub(crate) enum StateWord {
    Waiting,
    Scheduled,
    Running,
    Stuck,
    Success,
    Failed,
    Cancelled,
}

/// The words for a job's priority, for the API's description.
#[derive(ToSchema)]
#[schema(as = Priority)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the library's type")]
pub(crate) enum PriorityWord {
    High,
    Normal,
    Low,
}

/// Which program answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Version {
    /// The program's name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
}

/// How the server is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Health)]
pub(crate) struct HealthView {
    /// Whether all is well.
    pub(crate) ok: bool,
    /// What is not, by what was tried.
    pub(crate) troubles: std::collections::BTreeMap<String, String>,
}
