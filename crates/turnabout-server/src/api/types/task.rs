//! Tasks: what executors have made known of them, what is set for them beside that, and changes of that.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use turnabout::Priority;
use turnabout::group::Rate;
use turnabout::task::TaskSettings;
use utoipa::ToSchema;

use super::given;
use super::retention::{RetentionChange, RetentionView};
use super::{Limit, PriorityWord, RateLimit, SetBy};

/// Tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Tasks {
    /// Those that executors have made known, and those for which something is set; in the order of their names.
    pub(crate) tasks: Vec<TaskView>,
}

/// A task, its unfinished jobs, and what is set for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Task)]
pub(crate) struct TaskView {
    /// The task.
    pub(crate) task: String,
    /// Jobs of it that wait, ready or parked.
    pub(crate) waiting: u64,
    /// Jobs of it that have failed and will be tried again.
    pub(crate) stuck: u64,
    /// Jobs of it that executors hold: scheduled or running.
    pub(crate) held: u64,
    /// When the oldest of these was submitted.
    pub(crate) oldest: Option<Timestamp>,
    /// At most so many of its jobs run at a time, over all executors and groups.
    pub(crate) max_running: Option<u32>,
    /// At most so many of its jobs run at a time on one executor.
    #[serde(default)]
    pub(crate) max_running_each: Option<u32>,
    /// How often its jobs may start, over all executors and groups: `100/s`, `10/m burst 20`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(crate) rate: Option<Rate>,
    /// How many of its jobs can run at a time now: as many as these limits and the slots of the executors that run it allow. Zero
    /// if it is paused.
    #[serde(default)]
    pub(crate) effective: u64,
    /// The executors that run it, and how many of its jobs each holds.
    #[serde(default)]
    pub(crate) executors: Vec<TaskUse>,
    /// Whether no further job of it is taken.
    pub(crate) paused: bool,
    /// How long its ended jobs are kept, as far as that is set.
    #[serde(default)]
    pub(crate) retention: RetentionView,
    /// Who has set this, and when, if anything is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) set: Option<SetBy>,
    /// What its code or configuration says. None: no executor has made it known yet.
    pub(crate) published: Option<Published>,
}

/// An executor that runs a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TaskUse {
    /// The executor's name.
    pub(crate) executor: String,
    /// How many jobs of the task it holds.
    pub(crate) held: u64,
    /// How many of them it may run at a time: its slots, or fewer.
    pub(crate) most: u64,
}

/// What a task's code or configuration says, as an executor has last made it known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = PublishedTask)]
pub(crate) struct Published {
    /// The queue of its jobs, unless a submit says otherwise.
    pub(crate) queue: String,
    /// How urgent its jobs are inside their group, unless a submit says otherwise.
    #[schema(value_type = PriorityWord)]
    pub(crate) priority: Priority,
    /// How often a failed job is tried again.
    pub(crate) retries: u32,
    /// How many seconds before the first retry; twice as many before each further one.
    pub(crate) retry_delay_seconds: f64,
    /// No retry is delayed for more seconds.
    pub(crate) retry_cap_seconds: f64,
    /// Whether delays vary a little.
    pub(crate) jitter: bool,
    /// Whether a job may run a second time at all.
    pub(crate) restartable: bool,
    /// How many seconds an attempt may take. None: as long as it likes.
    pub(crate) time_limit_seconds: Option<f64>,
    /// How many unfinished jobs of it an owner may have. None: any number.
    pub(crate) max_unfinished: Option<u32>,
}

impl From<TaskSettings> for Published {
    fn from(task: TaskSettings) -> Self {
        Self {
            queue: task.queue,
            priority: task.priority,
            retries: task.policy.retries,
            retry_delay_seconds: task.policy.retry_delay.as_secs_f64(),
            retry_cap_seconds: task.policy.retry_cap.as_secs_f64(),
            jitter: task.policy.jitter,
            restartable: task.policy.restartable,
            time_limit_seconds: task.time_limit.as_ref().map(Duration::as_secs_f64),
            max_unfinished: task.max_unfinished,
        }
    }
}

/// What is to be set for a task, beside what its code says. What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TaskChange {
    /// At most so many of its jobs run at a time, over all executors and groups. `null`: as many as there are slots.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 2_147_483_647)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) max_running: Option<Limit>,
    /// At most so many of its jobs run at a time on one executor. `null`: as many as it has slots.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 2_147_483_647)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) max_running_each: Option<Limit>,
    /// How often its jobs may start, over all executors and groups: `100/s`, `10/m`, `5/30s`, `10/m burst 20`. `null`: as often as
    /// there are slots.
    #[schema(value_type = Option<String>)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<RateLimit>,
    /// True: no further job of it is taken; those that run go on. False: jobs are taken again.
    #[schema(value_type = bool)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    /// How long its jobs are kept after they have ended.
    #[schema(value_type = RetentionChange)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) retention: Option<RetentionChange>,
    /// Why: for whoever finds it later.
    #[schema(value_type = String)]
    #[serde(deserialize_with = "given::given", skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// What is set for a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TaskLimits)]
pub(crate) struct TaskSet {
    /// The task.
    pub(crate) task: String,
    /// At most so many of its jobs run at a time, over all executors and groups.
    pub(crate) max_running: Option<u32>,
    /// At most so many of its jobs run at a time on one executor.
    #[serde(default)]
    pub(crate) max_running_each: Option<u32>,
    /// How often its jobs may start, over all executors and groups.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(crate) rate: Option<Rate>,
    /// Whether no further job of it is taken.
    pub(crate) paused: bool,
    /// How long its ended jobs are kept, as far as that is set.
    #[serde(default)]
    pub(crate) retention: RetentionView,
    /// Whether any executor has made the task known. If not, its name is perhaps mistyped.
    pub(crate) published: bool,
}
