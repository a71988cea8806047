//! Queues: who serves them, what is set for them, and changes of that.

use serde::{Deserialize, Serialize};
use turnabout::group::QueueSettings;
use utoipa::ToSchema;

use super::SetBy;
use super::given;

/// Queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Queues {
    /// In the order of their names.
    pub(crate) queues: Vec<QueueView>,
}

/// A queue, who serves it, and what is set for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Queue)]
pub(crate) struct QueueView {
    /// The queue.
    pub(crate) queue: String,
    /// How many executors take its jobs: those that drain do not.
    pub(crate) executors: u64,
    /// How many slots they have. They may serve other queues too.
    pub(crate) slots: u64,
    /// Jobs of it that executors hold: scheduled or running.
    pub(crate) held: u64,
    /// The tasks whose jobs come into it, unless a submit says otherwise.
    pub(crate) tasks: Vec<String>,
    /// Whether no further job of it is taken.
    pub(crate) paused: bool,
    /// Who has set this, and when, if anything is set. Only told where one queue is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) set: Option<SetBy>,
}

impl QueueView {
    pub(crate) fn new(queue: &str) -> Self {
        Self {
            queue: queue.to_owned(),
            executors: 0,
            slots: 0,
            held: 0,
            tasks: Vec::new(),
            paused: false,
            set: None,
        }
    }
}

/// What is to be set for a queue. What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct QueueChange {
    /// True: no further job of it is taken; those that run go on. False: jobs are taken again.
    #[schema(value_type = bool)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    /// Why: for whoever finds it later.
    #[schema(value_type = String)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// What is set for a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = QueueSettings)]
pub(crate) struct QueueSet {
    /// The queue.
    pub(crate) queue: String,
    /// Whether no further job of it is taken.
    pub(crate) paused: bool,
}

impl QueueSet {
    pub(crate) fn new(queue: String, set: QueueSettings) -> Self {
        Self {
            queue,
            paused: set.paused,
        }
    }
}
