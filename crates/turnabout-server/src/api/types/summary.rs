//! How the whole is doing, in numbers.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use turnabout::{Priority, State};
use utoipa::ToSchema;

use super::{PriorityWord, StateWord};

/// Jobs by task, priority and state, and how fast they come and go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Summary {
    /// One entry for each task, priority and state that has jobs, of the 1000 tasks with the most jobs.
    pub(crate) tasks: Vec<TaskSummary>,
    /// How many other tasks have jobs.
    #[serde(default)]
    pub(crate) left_out: u64,
    /// How fast.
    pub(crate) rate: Rate,
}

/// Jobs of one task and priority in one state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TaskSummary {
    /// The task.
    pub(crate) task: String,
    /// The priority.
    #[schema(value_type = PriorityWord)]
    pub(crate) priority: Priority,
    /// The state.
    #[schema(value_type = StateWord)]
    pub(crate) state: State,
    /// How many jobs. Of those that failed all that are kept; of those that succeeded or were cancelled the ones of the window.
    pub(crate) jobs: u64,
    /// Of jobs that have ended: how many did so within the window that was asked for.
    #[serde(default)]
    pub(crate) in_window: Option<u64>,
    /// How many units of work they hold.
    pub(crate) items: u64,
    /// Units of work in a job, on average.
    pub(crate) average_items: f64,
    /// Of jobs that have ended: units of work a minute, over that window.
    #[serde(default)]
    pub(crate) items_per_minute: Option<f64>,
    /// How many attempts of theirs have failed so far. One that was cancelled has not.
    pub(crate) failures: u64,
    /// When the oldest of them was submitted.
    pub(crate) oldest: Option<Timestamp>,
    /// When the first of those that executors hold was started.
    pub(crate) first_reserved: Option<Timestamp>,
}

/// How fast jobs came and went, over the last minutes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Rate {
    /// Over so many seconds.
    pub(crate) seconds: u64,
    /// Jobs submitted.
    pub(crate) submitted: u64,
    /// Jobs that succeeded.
    pub(crate) success: u64,
    /// Jobs that failed.
    pub(crate) failed: u64,
    /// Jobs that were cancelled.
    pub(crate) cancelled: u64,
}
