//! Executors, and what runs on the one beside this server.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use turnabout::JobId;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// An executor as the store knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Executor)]
pub(crate) struct ExecutorView {
    /// Random, new at each registration.
    pub(crate) id: Uuid,
    /// Its name for people.
    pub(crate) name: String,
    /// How many jobs it runs at a time.
    pub(crate) slots: u32,
    /// Its queues.
    pub(crate) queues: Vec<String>,
    /// The tasks that it knows.
    pub(crate) tasks: Vec<String>,
    /// The program's version.
    pub(crate) version: String,
    /// When it was last heard of.
    pub(crate) seen: Timestamp,
    /// How many jobs it has in hand.
    pub(crate) held: u64,
    /// Whether it takes no more jobs.
    pub(crate) draining: bool,
}

/// All executors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Executors {
    /// In the order of their names.
    pub(crate) executors: Vec<ExecutorView>,
}

/// Whether an executor is to take no more jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DrainRequest {
    /// True: it takes no more. False: it takes jobs again.
    pub(crate) drain: bool,
    /// True: it also ends, with its process, when the jobs that it has in hand are done.
    #[serde(default)]
    pub(crate) exit: bool,
}

/// How a server is to end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExitQuery {
    /// How long running jobs may go on: `none` (as long as they take), or a duration such as `30s`. As
    /// `executor.exit-deadline` unless given.
    #[param(example = "10 minutes")]
    pub(crate) deadline: Option<String>,
}

/// An executor that was told to take no more jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Drain)]
pub(crate) struct DrainView {
    /// The executor.
    pub(crate) id: Uuid,
    /// Whether it takes no more jobs.
    pub(crate) draining: bool,
    /// Whether it ends when those that it has in hand are done.
    #[serde(default)]
    pub(crate) exit: bool,
}

/// What runs on the executor beside this server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "so it is called in the API")]
pub(crate) struct Running {
    /// Whether there is an executor beside this server at all.
    pub(crate) executor: bool,
    /// How many jobs run.
    pub(crate) running: u64,
    /// The jobs that it has in hand, running or about to.
    #[schema(value_type = Vec<Uuid>)]
    pub(crate) jobs: Vec<JobId>,
}
