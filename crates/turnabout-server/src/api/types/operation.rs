//! Changes of many jobs that run in the background.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::BulkVerb;

/// Changes of many jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Operations {
    /// Newest first.
    pub(crate) operations: Vec<OperationView>,
}

/// Where an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OperationState {
    /// It goes on.
    Running,
    /// It has changed all that matched when it began.
    Done,
    /// Someone has stopped it, or the server was ended.
    Stopped,
    /// The store refused.
    Failed,
}

/// A change of many jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Operation)]
pub(crate) struct OperationView {
    /// Its id.
    pub(crate) id: Uuid,
    /// What is done.
    pub(crate) action: BulkVerb,
    /// By whom.
    pub(crate) by: String,
    /// Since when. It covers what matched then, each job once.
    pub(crate) begun: Timestamp,
    /// When it ended.
    pub(crate) ended: Option<Timestamp>,
    /// Where it is.
    pub(crate) state: OperationState,
    /// How many jobs matched when it began, counted up to 10,000; all of them once it is done.
    pub(crate) matched: u64,
    /// Whether there were more.
    pub(crate) more: bool,
    /// How many it has changed so far.
    pub(crate) changed: u64,
    /// How many it has passed over: their state had changed meanwhile, or another job has their unique key.
    pub(crate) skipped: u64,
    /// Why it failed.
    pub(crate) error: Option<String>,
}
